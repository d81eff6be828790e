// What a tool's arguments are, by its schema; it is compiled, never run.
import type { Session, Tool } from "aptix-edge";
import { answerAs, jsonSchema, tool, type FromSchema } from "aptix-edge/schema";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <T extends true>(): T | undefined => undefined;

const byZod = tool({ name: "z", parameters: z.object({ path: z.string(), line: z.number().optional() }), run: (args) => is<Equal<typeof args, { path: string; line?: number | undefined }>>() });
const byValibot = tool({ name: "v", parameters: v.object({ path: v.string() }), declared: { type: "object" }, run: (args) => is<Equal<typeof args, { path: string }>>() });
const byArkType = tool({ name: "a", parameters: type({ path: "string" }), run: (args) => is<Equal<typeof args, { path: string }>>() });
const byJson = tool({
  name: "j",
  parameters: jsonSchema({ type: "object", properties: { path: { type: "string" }, lines: { type: "array", items: { type: "integer" } } }, required: ["path"], additionalProperties: false }),
  run: (args, { toolCallId }) => {
    is<Equal<typeof args, { path: string; lines?: number[] }>>();
    is<Equal<typeof toolCallId, string>>();
    // @ts-expect-error: no such member
    args.lien;
  },
});
export const tools: Tool[] = [byZod, byValibot, byArkType, byJson];

is<Equal<FromSchema<{ enum: readonly ["a", 1] }>, "a" | 1>>();
is<Equal<FromSchema<{ type: readonly ["string", "null"] }>, string | null>>();
is<Equal<FromSchema<{ anyOf: readonly [{ const: "a" }, { type: "boolean" }] }>, "a" | boolean>>();
is<Equal<FromSchema<{ type: "object"; additionalProperties: { type: "number" } }>, { [name: string]: number }>>();
is<Equal<FromSchema<{ type: "array" }>, unknown[]>>();
is<Equal<FromSchema<{ $ref: "#/x" }>, unknown>>();
is<Equal<FromSchema<object>, unknown>>();

const answer = await answerAs({ PrimaryOutputText: "{}" }, z.object({ total: z.number() }));
is<Equal<typeof answer, { total: number }>>();
// A tool without a schema knows nothing of its arguments.
export const plain: Tool = { name: "p", run: (args) => is<Equal<typeof args, unknown>>() };
// @ts-expect-error: what is unknown has no members
export const careless: Tool = { name: "p", run: (args) => args.path };
export const annotated: Tool = { name: "p", run: ({ path }: { path: string }) => path };
// @ts-expect-error: a JSON Schema is wrapped, so that it can be checked
tool({ name: "x", parameters: { type: "object" }, run: () => 1 });

export async function asked(session: Session): Promise<void> {
  const order = await session.turn({ Instruction: "x" }, { output: z.object({ at: z.string().transform((at) => new Date(at)) }) }).output();
  is<Equal<typeof order, { at: Date }>>();
  const written = await session.turn({ Instruction: "x" }, { output: { type: "object", properties: { total: { type: "number" } }, required: ["total"], additionalProperties: false }, progress: true }).output();
  is<Equal<typeof written, { total: number }>>();
  const again = await session.attach("t", { output: z.object({ a: z.boolean() }) }).output();
  is<Equal<typeof again, { a: boolean }>>();
  const unknown = await session.turn({ Instruction: "x" }).output();
  is<Equal<typeof unknown, unknown>>();
}
