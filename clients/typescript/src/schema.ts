// Tools and answers typed by a schema: zod, valibot, ArkType, any Standard Schema, or JSON Schema. An entry of its own. Owns
// that nothing reaches a tool, or comes as an answer, that does not fit its schema.
import { jsonSchema, type FromSchema } from "./schema/json_schema.js";
import type { Issue, OutputOf, StandardSchema } from "./schema/standard.js";
import type { Tool, ToolContext } from "./tools.js";
import type { FinalResponse } from "./types.js";

export { jsonSchema, type FromSchema, type Issue, type OutputOf, type StandardSchema };

/** A tool before it is one: `run` gets what the schema gives. */
export interface TypedTool<S extends StandardSchema> extends Omit<Tool, "parameters" | "run"> {
  /** What the arguments have to fit, and, unless `declared` says it, what the model is told of them. */
  parameters: S;
  /** The JSON Schema that the model is told, for libraries that write none. */
  declared?: object;
  run(args: OutputOf<S>, context: ToolContext): unknown;
}

/** What does not fit a schema: `issues` are all faults, `text` is what was read. */
export class SchemaError extends Error {
  override name = "SchemaError";

  constructor(
    about: string,
    readonly issues: readonly Issue[],
    readonly text?: string,
  ) {
    super(`${about}: ${issues.map(said).join("; ")}`);
  }
}

/**
 * A tool whose arguments are typed by its schema. They are checked before `run`; what does not fit is told to the model, and
 * `run` is not called.
 */
export function tool<S extends StandardSchema>(typed: TypedTool<S>): Tool {
  const { parameters, declared, run, ...rest } = typed;
  return {
    ...rest,
    parameters: declared ?? declaredBy(parameters, typed.name),
    run: async (args, context) => run(await checked(parameters, args, "The arguments do not fit"), context),
  };
}

/** The answer as the JSON that it is, checked by its schema; a fence of Markdown around it is taken off. */
export async function answerAs<S extends StandardSchema>(
  answer: Pick<FinalResponse, "PrimaryOutputText"> | PromiseLike<Pick<FinalResponse, "PrimaryOutputText">>,
  schema: S,
): Promise<OutputOf<S>> {
  const { PrimaryOutputText: text } = await answer;
  const json = /^\s*```(?:json)?\s*\n([^]*?)\n\s*```\s*$/i.exec(text)?.[1] ?? text;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new SchemaError("The answer is no JSON", [{ message: (error as Error).message }], text);
  }
  return checked(schema, value, "The answer does not fit", text);
}

async function checked<S extends StandardSchema>(schema: S, value: unknown, about: string, text?: string): Promise<OutputOf<S>> {
  const result = await schema["~standard"].validate(value);
  if (result.issues) throw new SchemaError(about, result.issues, text);
  return result.value as OutputOf<S>;
}

function declaredBy({ "~standard": { jsonSchema: written, vendor } }: StandardSchema, name: string): object {
  if (!written) throw new TypeError(`${vendor} tells no JSON Schema of the tool ${name}: give it as \`declared\`.`);
  const { $schema: _, ...declared } = written.input({ target: "draft-2020-12" }) as { $schema?: string };
  return declared;
}

function said({ message, path = [] }: Issue): string {
  const place = path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
  return place ? `${place}: ${message}` : message;
}
