// A plain JSON Schema as a Standard Schema: checked by draft 2020-12, and its type inferred where it is written in place.
import { Validator } from "@cfworker/json-schema";
import type { Issue, StandardSchema } from "./standard.js";

type Simple = { string: string; number: number; integer: number; boolean: boolean; null: null };
type Members<S> = S extends { readonly properties: infer P } ? P : {};
type Required<S> = S extends { readonly required: readonly (infer R)[] } ? R : never;
type Further<S> = S extends { readonly additionalProperties: infer A }
  ? A extends false
    ? {}
    : { [name: string]: FromSchema<A> }
  : S extends { readonly properties: unknown }
    ? {}
    : { [name: string]: unknown };
type Flat<T> = { [K in keyof T]: T[K] };
type ObjectOf<S> = Flat<
  { -readonly [K in keyof Members<S> as K extends Required<S> ? K : never]: FromSchema<Members<S>[K]> } & {
    -readonly [K in keyof Members<S> as K extends Required<S> ? never : K]?: FromSchema<Members<S>[K]>;
  } & Further<S>
>;
type OfType<S, T> = T extends keyof Simple
  ? Simple[T]
  : T extends "array"
    ? (S extends { readonly items: infer I } ? FromSchema<I> : unknown)[]
    : T extends "object"
      ? ObjectOf<S>
      : unknown;

/** What a JSON Schema lets through, as far as its usual words tell; `unknown` beyond them. */
export type FromSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly anyOf: readonly (infer A)[] } | { readonly oneOf: readonly (infer A)[] }
      ? A extends unknown
        ? FromSchema<A>
        : never
      : S extends { readonly type: readonly (infer T)[] }
        ? T extends unknown
          ? OfType<S, T>
          : never
        : S extends { readonly type: infer T }
          ? OfType<S, T>
          : unknown;

/** The most faults that are told of a value. */
const MOST_ISSUES = 10;

/** Makes a JSON Schema what `tool` and `answerAs` take: `jsonSchema({ type: "object", properties: { path: { type: "string" } } })`. */
export function jsonSchema<const S extends object>(schema: S): StandardSchema<FromSchema<S>> {
  const validator = new Validator(schema as ConstructorParameters<typeof Validator>[0], "2020-12", false);
  const validate = (value: unknown) => {
    const { valid, errors } = validator.validate(value);
    if (valid) return { value: value as FromSchema<S> };
    // An error of an object is told by those of its members, which come with it.
    const places = errors.map(({ instanceLocation }) => instanceLocation);
    const own = errors.filter(({ instanceLocation, keyword }) => !WRAPPERS.has(keyword) || !places.some((place) => place.startsWith(`${instanceLocation}/`)));
    return { issues: (own.length > 0 ? own : errors).slice(0, MOST_ISSUES).map(issueOf) };
  };
  return { "~standard": { version: 1, vendor: "aptix-edge", validate, jsonSchema: { input: () => schema } } };
}

/** Words of a schema whose errors only say that another one is below. */
const WRAPPERS = new Set(["properties", "items", "additionalProperties", "prefixItems", "patternProperties"]);

function issueOf({ error, instanceLocation }: { error: string; instanceLocation: string }): Issue {
  const path = instanceLocation.replace(/^#\/?/, "").split("/").filter(Boolean);
  return { message: error, path: path.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~")) };
}
