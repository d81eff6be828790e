// Tools and answers typed by a schema: zod, valibot, ArkType, any Standard Schema, or JSON Schema. An entry of its own. Owns
// that nothing reaches a tool, or comes as an answer, that does not fit its schema.
import { SchemaError } from "./errors.js";
import { checked, declaredBy, parsed } from "./schema/checked.js";
import { jsonSchema, type FromSchema } from "./schema/json_schema.js";
import type { Issue, OutputOf, StandardSchema } from "./schema/standard.js";
import type { Tool, ToolContext } from "./tools.js";
import type { FinalResponse } from "./types.js";

export { SchemaError, jsonSchema, type FromSchema, type Issue, type OutputOf, type StandardSchema };

/** A tool before it is one: `run` gets what the schema gives. */
export interface TypedTool<S extends StandardSchema> extends Omit<Tool, "parameters" | "run"> {
  /** What the arguments have to fit, and, unless `declared` says it, what the model is told of them. */
  parameters: S;
  /** The JSON Schema that the model is told, for libraries that write none. */
  declared?: object;
  run(args: OutputOf<S>, context: ToolContext): unknown;
}

/**
 * A tool whose arguments are typed by its schema. They are checked before `run`; what does not fit is told to the model, and
 * `run` is not called.
 */
export function tool<S extends StandardSchema>(typed: TypedTool<S>): Tool {
  const { parameters, declared, run, ...rest } = typed;
  return {
    ...rest,
    parameters: declared ?? declaredBy(parameters, `the tool ${typed.name}`, "`declared`"),
    run: async (args, context) => run(await checked(parameters, args, "The arguments do not fit"), context),
  };
}

/** The answer as the JSON that it is, checked by its schema; a fence of Markdown around it is taken off. */
export async function answerAs<S extends StandardSchema>(
  answer: Pick<FinalResponse, "PrimaryOutputText"> | PromiseLike<Pick<FinalResponse, "PrimaryOutputText">>,
  schema: S,
): Promise<OutputOf<S>> {
  const { PrimaryOutputText: text } = await answer;
  return checked(schema, parsed(text), "The answer does not fit", text);
}
