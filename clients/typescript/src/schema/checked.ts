// What a Standard Schema does: it checks a value, and most write themselves as JSON Schema.
import { SchemaError } from "../errors.js";
import type { OutputOf, StandardSchema } from "./standard.js";

/** The value that the schema gives, or all that does not fit. */
export async function checked<S extends StandardSchema>(schema: S, value: unknown, about: string, text?: string): Promise<OutputOf<S>> {
  const result = await schema["~standard"].validate(value);
  if (result.issues) throw new SchemaError(about, result.issues, text);
  return result.value as OutputOf<S>;
}

/** The JSON Schema that a library writes of its schema. */
export function declaredBy({ "~standard": { jsonSchema: written, vendor } }: StandardSchema, of: string, remedy: string): object {
  if (!written) throw new TypeError(`${vendor} tells no JSON Schema of ${of}: give it as ${remedy}.`);
  const { $schema: _, ...declared } = written.input({ target: "draft-2020-12" }) as { $schema?: string };
  return declared;
}

/** A text as JSON; a fence of Markdown around it is taken off. */
export function parsed(text: string): unknown {
  try {
    // Each space can be in one place of the pattern alone: a model may write nothing but line breaks until it is stopped.
    return JSON.parse(/^```(?:json)?[^\S\n]*\n([^]*)\n[^\S\n]*```$/i.exec(text.trim())?.[1] ?? text);
  } catch (error) {
    throw new SchemaError("The answer is no JSON", [{ message: (error as Error).message }], text);
  }
}
