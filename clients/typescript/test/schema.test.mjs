// Tools and answers by their schema: what does not fit is told to the model and runs nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { UNJOINED, rigForFile } from '../../../tests/e2e/harness.mjs';
import { answer, call, text } from '../../../tests/e2e/scripted_model.mjs';
import * as core from '../dist/index.js';
import { SchemaError, answerAs, jsonSchema, tool } from '../dist/schema.js';
import { client } from './turns.mjs';

const rig = rigForFile(UNJOINED);
const said = (...items) => rig.model.script(answer(...items));
const declared = { type: 'object', properties: { path: { type: 'string' }, line: { type: 'integer', minimum: 1 } }, required: ['path'] };
const SCHEMAS = {
  'JSON Schema': { parameters: jsonSchema(declared) },
  zod: { parameters: z.object({ path: z.string(), line: z.int().min(1).optional() }) },
  valibot: { parameters: v.object({ path: v.string(), line: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))) }), declared },
  ArkType: { parameters: type({ path: 'string', 'line?': 'number.integer >= 1' }) },
};

for (const [name, schema] of Object.entries(SCHEMAS)) {
  test(`${name}: the model is told the schema, what fits is run, and what does not is told to the model`, async () => {
    const runs = [];
    const read = tool({ name: 'read', description: 'Reads.', ...schema, run: (args, { toolCallId }) => (runs.push([args, typeof toolCallId]), 'contents') });
    said(call('read', { path: 'a', line: 2 }), call('read', { path: 1, line: 0 }), call('read', {}), call('read', '[1]'));
    said(text('Read.'));
    const final = await client(rig.url).session(`schema-${name.replace(' ', '-')}`).turn({ Instruction: 'x' }, { tools: [read] }).final();
    assert.equal(final.PrimaryOutputText, 'Read.');
    assert.deepEqual(runs, [[{ path: 'a', line: 2 }, 'string']]);
    const told = rig.model.bodies[0].tools.find((each) => each.name === 'read').parameters;
    assert.deepEqual([told.type, told.required, told.properties.path.type, told.$schema], ['object', ['path'], 'string', undefined]);
    const [first, second, third, fourth] = rig.model.bodies[1].input.map(({ output }) => output);
    assert.equal(JSON.parse(first), 'contents');
    assert.match(second, /The arguments do not fit[^]*path/);
    assert.match(second, /line/);
    assert.match(third, /do not fit[^]*path/);
    assert.match(fourth, /do not fit/);
  });
}

test('what a schema makes of the arguments is what runs; one that tells the model nothing is refused at once', async () => {
  const parameters = z.object({ at: z.string().transform((at) => new Date(at)), tags: z.array(z.string()).default([]) });
  const seen = await tool({ name: 'at', parameters, declared, run: (args) => args }).run({ at: '2026-11-22' });
  assert.deepEqual(seen, { at: new Date('2026-11-22'), tags: [] });
  assert.throws(() => tool({ name: 'mute', parameters: v.object({}), run: () => 1 }), /valibot tells no JSON Schema of the tool mute/);
  const later = { '~standard': { version: 1, vendor: 'own', validate: async (value) => ({ issues: [{ message: 'never', path: [{ key: 'a' }, 0] }], value }) } };
  await assert.rejects(tool({ name: 'x', parameters: later, declared, run: () => 1 }).run({}), { message: 'The arguments do not fit: a.0: never' });
});

test('an answer is the JSON that its schema says, or an error with all its faults', async () => {
  const schema = jsonSchema({ type: 'object', properties: { total: { type: 'number' }, of: { type: 'array', items: { type: 'string' } } }, required: ['total'] });
  const session = client(rig.url).session('schema-answers');
  const asked = (words) => (said(text(words)), answerAs(session.turn({ Instruction: 'x' }).final(), schema));
  assert.deepEqual(await asked('{"total":1.5,"of":["a"]}'), { total: 1.5, of: ['a'] });
  assert.deepEqual(await asked('```json\n{"total":2}\n```\n'), { total: 2 });
  await assert.rejects(asked('{"total":"two","of":[1]}'), (error) => {
    assert.ok(error instanceof SchemaError);
    assert.deepEqual([error.text, error.issues.map(({ path }) => path.join('/')).sort()], ['{"total":"two","of":[1]}', ['of/0', 'total']]);
    return true;
  });
  // What a model wrote that came to no end.
  const began = process.cpuUsage();
  await assert.rejects(answerAs({ PrimaryOutputText: `\`\`\`json${'\n'.repeat(3000)}` }, schema), SchemaError);
  assert.ok(process.cpuUsage(began).user < 1e6, 'a long answer takes long');
  await assert.rejects(asked('About two.'), (error) => error instanceof SchemaError && /no JSON/.test(error.message) && error.text === 'About two.');
});

test('a turn asks for the form of its answer, and reads it by that', async () => {
  const session = client(rig.url).session('schema-output');
  const order = z.object({ number: z.int(), places: z.array(z.object({ name: z.string(), at: z.string().transform((at) => new Date(at)) })), note: z.string().optional() });
  said(text('{"number":7,"places":[{"name":"x","at":"2026-11-22"}],"note":""}'));
  const turn = session.turn({ Instruction: 'x', OutputSchemaName: 'order' }, { output: order });
  const answered = { number: 7, places: [{ name: 'x', at: new Date('2026-11-22') }], note: '' };
  assert.deepEqual(await turn.output(), answered);
  const { format } = rig.model.bodies[0].text;
  const { schema } = format;
  assert.deepEqual([format.type, format.name, format.strict], ['json_schema', 'order', true]);
  // A service holds an answer to closed and whole objects alone.
  assert.deepEqual([schema.required, schema.additionalProperties, schema.$schema], [['number', 'places', 'note'], false, undefined]);
  assert.deepEqual([schema.properties.places.items.required, schema.properties.places.items.additionalProperties], [['name', 'at'], false]);
  assert.deepEqual(await session.attach(turn.turnId, { output: order }).output(), answered);

  said(text('{"a":1}'));
  const plain = { type: 'object', properties: { a: { type: 'integer' } } };
  assert.deepEqual(await session.turn({ Instruction: 'y' }, { output: plain }).output(), { a: 1 });
  assert.deepEqual(rig.model.bodies[1].text.format, { type: 'json_schema', name: 'answer', schema: plain, strict: true });

  said(text('I cannot say.'));
  await assert.rejects(session.turn({ Instruction: 'z' }, { output: plain }).output(), (error) => error instanceof SchemaError && error.text === 'I cannot say.');
  said(text('{"number":"seven"}'));
  await assert.rejects(session.turn({ Instruction: 'w' }, { output: order }).output(), { message: /^The answer does not fit: number/ });
  assert.equal(core.SchemaError, SchemaError);
  // Services refuse words beside a reference, a reference as the whole, defaults, and `oneOf`.
  const place = z.object({ name: z.string() }).meta({ id: 'Place' });
  const kinds = z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b'), of: place })]);
  const node = z.object({ at: place.describe('Where.'), near: place.default({ name: 'x' }), kind: kinds, get under() { return z.array(node); } }).meta({ id: 'Node' });
  said(text('{"at":{"name":"x"},"near":{"name":"y"},"kind":{"kind":"a"},"under":[]}'));
  await session.turn({ Instruction: 'u' }, { output: node }).output();
  const { type, properties, $defs } = rig.model.bodies.at(-1).text.format.schema;
  const ref = { $ref: '#/$defs/Place' };
  assert.deepEqual([type, properties.at, properties.near, $defs.Node.properties], ['object', { description: 'Where.', anyOf: [ref] }, ref, properties]);
  assert.deepEqual([Object.keys(properties.kind), properties.kind.anyOf.length], [['anyOf'], 2]);
  // An object that would take further members is closed as well.
  said(text('{"a":1,"in":{"b":2}}'));
  const loose = z.looseObject({ a: z.int(), in: z.object({ b: z.int() }).catchall(z.int()) });
  assert.deepEqual(await session.turn({ Instruction: 't' }, { output: loose }).output(), { a: 1, in: { b: 2 } });
  const open = rig.model.bodies.at(-1).text.format.schema;
  assert.deepEqual([open.additionalProperties, open.properties.in.additionalProperties], [false, false]);
  // A library that writes no JSON Schema is given one beside it.
  assert.throws(() => session.turn({ Instruction: 'v' }, { output: v.object({ a: v.number() }) }), /valibot tells no JSON Schema of the answer: give it as `OutputSchema`/);
  said(text('{"a":2}'));
  assert.deepEqual(await session.turn({ Instruction: 'v', OutputSchema: JSON.stringify(plain) }, { output: v.object({ a: v.number() }) }).output(), { a: 2 });
});
