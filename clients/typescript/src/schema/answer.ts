// The form of a turn's answer: what the service is told of it, and how the answer is read. A Standard Schema brings its own
// check; to a plain JSON Schema the model service holds the answer.
import { checked, declaredBy, parsed } from "./checked.js";
import type { FromSchema } from "./json_schema.js";
import type { OutputOf, StandardSchema } from "./standard.js";

/** What an answer is read as: by a Standard Schema what that gives, by a JSON Schema what fits it. */
export type AnswerOf<S> = S extends { readonly "~standard": unknown } ? OutputOf<S> : FromSchema<S>;

const isStandard = (schema: object): schema is StandardSchema => "~standard" in schema;

/** `OutputSchema` of a turn whose answer has this form. */
export function outputSchema(schema: object): string {
  return JSON.stringify(isStandard(schema) ? closed(whole(declaredBy(schema, "the answer", "`OutputSchema` of the turn"))) : schema);
}

/** The answer as the JSON that it is, checked where the schema checks. */
export async function answerBy(text: string, schema: object | undefined): Promise<unknown> {
  const value = parsed(text);
  return schema && isStandard(schema) ? checked(schema, value, "The answer does not fit", text) : value;
}

/** The words of a schema whose value holds schemas by their names, a list of them, or one. */
const BY_NAME = /^(properties|\$defs|definitions|patternProperties)$/;
const HELD = /^(anyOf|oneOf|allOf|prefixItems|items|additionalProperties|not)$/;

/** What a library writes of a form, as far as it is changed here. */
interface Written {
  $ref?: string;
  $defs?: Record<string, Written>;
  oneOf?: object;
  default?: unknown;
  properties?: object;
}

/** The form itself in the place of a reference to it, which libraries write of one that holds itself: services demand an object. */
function whole(form: Written): Written {
  const named = form.$defs?.[`${form.$ref}`.slice("#/$defs/".length)];
  return named ? whole({ ...named, ...form, $ref: named.$ref }) : form;
}

/**
 * The same as model services demand of a form to which they hold an answer: every object closed and whole, so without defaults;
 * nothing beside a reference; `anyOf` and no `oneOf`.
 */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const { $ref, oneOf: anyOf, default: _, ...others }: Written = mapped(schema, (value, name) =>
    BY_NAME.test(name) ? mapped(value, closed) : HELD.test(name) ? closed(value) : value,
  );
  const made = { ...others, ...(anyOf && { anyOf }), ...($ref && (Object.keys(others)[0] ? { anyOf: [{ $ref }] } : { $ref })) };
  return made.properties ? { ...made, additionalProperties: false, required: Object.keys(made.properties) } : made;
}

const mapped = (object: object, change: (value: never, name: string) => unknown): object =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value as never, name)]));
