// MCP servers that others wrote, in both eras of the protocol: the reference server, which keeps sessions, and one on the
// protocol's newer package (interface §11 and §12).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, afterEach, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { dualServer } from '../fakes/mcp_servers/dual.mjs';
import { Recorder } from '../fakes/mcp_servers/recorder.mjs';
import { pinsOf } from '../tools/check_catalog.mjs';
import { API_KEY, BOOT_PROMPT, TOOL_SECRET, apiKeys, refusalOf, resultOf, rigForFile } from './harness.mjs';
import { addServer, calling, errorIn, outputsTo, turnWith, warningsOf } from './mcp_turns.mjs';
import { answer, call, text } from './scripted_model.mjs';

const KEY = 'a-user-s-own-key-2f81';
const INSTRUCTION = 'What the user says: kingfisher.';
const EVERYTHING = fileURLToPath(new URL('../fakes/mcp_servers/everything.mjs', import.meta.url));

/** Starts the reference server; resolves to `{url, close}`. */
async function everythingServer() {
  const child = spawn(process.execPath, [EVERYTHING], { env: { PATH: process.env.PATH, PORT: '0' }, stdio: ['ignore', 'pipe', 'ignore'] });
  let said = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    said += chunk;
    const [, url] = /listening on (http\S+)/.exec(said) ?? [];
    if (!url) continue;
    child.stdout.resume();
    return { url, close: () => child.kill('SIGKILL') && once(child, 'exit') };
  }
  throw new Error(`the reference server did not start: ${said}`);
}

const running = await Promise.all([everythingServer(), dualServer(), dualServer({ legacy: 'reject', responseMode: 'sse' }), everythingServer()]);
const [everything, dual, modern, counted] = await Promise.all([0, 1, 2, 1].map((index) => Recorder.start(running[index].url)));
const servers = { everything, dual, modern, counted };
after(() => Promise.all([...Object.values(servers), ...running].map((server) => server.close())));

/** The pins of all tools, as `make check-catalog ONLINE=1` writes them. */
const pins = await pinsOf({ everything: { Url: everything.url }, dual: { Url: dual.url } });

const rig = rigForFile({
  vars: { AUTH: 'keys', API_KEYS: apiKeys({ [KEY]: 'acme' }) },
  hidden: [[KEY]],
  catalog: (catalog) => {
    const approval = { 'delete_*': { When: 'Always', AllowEdit: true, Message: 'Really?' } };
    addServer(catalog, 'everything', { Url: everything.url });
    addServer(catalog, 'dual', { Url: dual.url, Headers: { 'X-Key': '${TOOL_SECRET}' }, Approval: approval });
    addServer(catalog, 'modern', { Url: modern.url, Allow: ['a*', 'fail'] }, ['modern/add', 'modern/attach', 'modern/draw', 'modern/gone']);
    addServer(catalog, 'counted', { Url: counted.url });
    addServer(catalog, 'pinned', { Url: everything.url, Pins: { ...pins.everything, echo: '0'.repeat(64) } });
    addServer(catalog, 'pinned_dual', { Url: dual.url, Pins: pins.dual });
  },
});

/** Headers that a server may be sent; `x-key` stands in its entry of the catalog, the runtime adds `cf-worker`. */
const HEADERS = /^(host|connection|content-length|content-type|accept|accept-encoding|mcp-[a-z-]+|last-event-id|x-key|transfer-encoding|cf-worker)$/;

afterEach(() => {
  for (const [name, { requests }] of Object.entries(servers)) {
    for (const { headers, text: body } of requests) {
      const all = JSON.stringify(headers) + body;
      const words = [KEY, API_KEY, BOOT_PROMPT, INSTRUCTION, '"session-', 'turn-1', 'acme', ...(name === 'dual' ? [] : [TOOL_SECRET])];
      for (const word of words) assert.ok(!all.includes(word), `${name} was sent "${word}": ${all}`);
      for (const header of Object.keys(headers)) assert.match(header, HEADERS, name);
    }
  }
  for (const { body } of rig.model.requests) assert.doesNotMatch(JSON.stringify(body), /Obey the server|Everything Server/);
});
beforeEach(() => Object.values(servers).forEach((server) => server.clear()));

const turn = (server, calls, more = {}) => calling(rig, server, calls, { key: KEY, Instruction: INSTRUCTION, ...more });
const get = (route) => rig.get(route, { key: KEY });
const post = (body) => rig.post(body, { key: KEY });
const traceOf = (turn) => rig.trace(turn, { key: KEY });

test('the reference server: its tools are offered with their names, called, and each kind of result reaches the model', async () => {
  const { offered, outputs, result } = await turn('everything', [
    ['echo', { message: 'hi' }],
    ['get-sum', { a: 2, b: 3 }],
    ['get-structured-content', { location: 'Chicago' }],
    ['get-tiny-image', {}],
    ['get-resource-links', { count: 2 }],
    ['get-resource-reference', { resourceType: 'Blob', resourceId: 1 }],
    ['get-sum', { a: 'two' }],
    ['trigger-long-running-operation', { duration: 0.2, steps: 2 }],
  ]);
  assert.deepEqual(offered, Object.keys(pins.everything).map((name) => `everything__${name}`).sort());
  const [echo] = rig.model.bodies[0].tools.filter(({ name }) => name === 'everything__echo');
  assert.deepEqual(
    [echo.type, echo.description, echo.parameters.properties.message.type, echo.parameters.required, echo.strict],
    ['function', 'Echoes back the input string', 'string', ['message'], false],
  );
  const [said, sum, structured, image, links, blob, mistaken, long] = outputs;
  assert.equal(said, 'Echo: hi');
  assert.equal(sum, 'The sum of 2 and 3 is 5.');
  assert.deepEqual(structured, { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 });
  assert.deepEqual(image.map(({ type }) => type), ['input_text', 'input_image']);
  assert.match(image[1].image_url, /^data:image\/png;base64,iVBOR/);
  assert.match(links, /Here are 2 resource links[^]*\n\[resource_link .*Text Resource 2/);
  assert.match(blob, /\[resource demo:\/\/resource\/dynamic\/blob\/1 /);
  assert.match(errorIn(mistaken), /-32602|expected number/i);
  assert.match(long, /Long running operation completed/);
  assert.equal(result.ToolResults.length, 8);
  assert.equal(JSON.parse(result.ToolResults[0].ResultJson), 'Echo: hi');
  assert.equal(result.ToolResults[6].ErrorMessage, errorIn(mistaken));
});

test('a session of the product has a session of its own with the server, kept over its turns and begun again when it is lost', async () => {
  const first = await turn('everything', [['echo', { message: 'one' }]]);
  const again = async (TurnId) => {
    rig.model.script(answer(call('everything__echo', { message: TurnId })), answer(text('Done.')));
    resultOf(await post({ SessionId: first.turn.SessionId, TurnId, Instruction: INSTRUCTION }));
    return outputsTo(rig);
  };
  assert.deepEqual(await again('two'), ['Echo: two']);
  await turn('everything', [['echo', { message: 'another' }]]);
  const sessionsOf = (message) => everything.requests.filter(({ text: body }) => body.includes(message)).map(({ headers }) => headers['mcp-session-id']);
  const [[one], [two], [another]] = ['"one"', '"two"', '"another"'].map(sessionsOf);
  assert.ok(one && another && one === two && one !== another, `${one}, ${two}, ${another}`);

  // A server that was restarted knows no session of before.
  const { target } = everything;
  everything.target = new URL(running[3].url);
  try {
    everything.clear();
    assert.deepEqual(await again('three'), ['Echo: three']);
    assert.deepEqual(everything.methods, ['tools/call', 'initialize', 'notifications/initialized', 'tools/call']);
  } finally {
    everything.target = target;
  }
});

for (const name of ['dual', 'modern']) {
  test(`a server of the newer era, ${name}: no handshake, the protocol's headers, structured results, links by name`, async () => {
    const { outputs, offered } = await turn(name, [['add', { a: 2, b: 3 }], ['attach']]);
    assert.deepEqual(outputs[0], { sum: 5 });
    assert.match(outputs[1], /^See:\n\[resource_link report .*\]\n\[resource file:\/\/\/data\.bin .*\]\n\[audio .*\]$/);
    assert.ok(offered.includes(`${name}__add`));
    const { methods, requests } = servers[name];
    assert.deepEqual(methods.slice(-2), ['tools/call', 'tools/call']);
    assert.ok(methods.slice(0, -2).every((method) => method === 'tools/list'), methods.join());
    const { headers, message } = requests.at(-2);
    assert.deepEqual(
      ['mcp-method', 'mcp-name', 'mcp-protocol-version', 'mcp-session-id', 'x-key'].map((header) => headers[header]),
      ['tools/call', 'add', '2026-07-28', undefined, name === 'dual' ? TOOL_SECRET : undefined],
    );
    const { name: called, arguments: given, _meta, ...rest } = message.params;
    assert.deepEqual([called, given, rest], ['add', { a: 2, b: 3 }, {}]);
    assert.ok(Object.keys(_meta).every((member) => /^io\.modelcontextprotocol\/(protocolVersion|clientInfo|clientCapabilities)$/.test(member)));
  });
}

test('pictures go to the model as pictures; what a tool says against itself, and bad arguments, go to it as errors', async () => {
  const { outputs } = await turn('dual', [['draw'], ['fail'], ['add', { a: 'two' }]]);
  assert.deepEqual(outputs[0].map(({ type }) => type), ['input_text', 'input_image']);
  assert.match(errorIn(outputs[1]), /The disk is full\./);
  assert.match(errorIn(outputs[2]), /expected number/i);
});

test('only what Allow and the mode name is offered, and a mode that names what is not there warns the user', async () => {
  const { got, offered } = await turn('modern', []);
  assert.deepEqual(offered, ['modern__add', 'modern__attach']);
  assert.match(warningsOf(got), /modern\/draw[^]*modern\/gone|modern\/gone[^]*modern\/draw/);
});

test('pins that the catalog\'s check wrote hold real definitions; one that changed is left out with a warning', async () => {
  const { got, offered } = await turn('pinned', []);
  const kept = Object.keys(pins.everything).filter((name) => name !== 'echo');
  assert.deepEqual(offered, kept.map((name) => `pinned__${name}`).sort());
  assert.match(warningsOf(got), /echo/);
  const { got: whole, offered: all } = await turn('pinned_dual', []);
  assert.deepEqual(all, Object.keys(pins.dual).map((name) => `pinned_dual__${name}`).sort());
  assert.equal(warningsOf(whole), '');
});

test('a list costs the server one request for all sessions and turns, and outlives the instance', async () => {
  const followUps = async () => {
    const { turn: { SessionId } } = await turn('counted', []);
    for (const TurnId of ['next', 'last']) {
      rig.model.script(answer(text('Ok.')));
      resultOf(await post({ SessionId, TurnId, Instruction: INSTRUCTION }));
    }
  };
  for (let session = 0; session < 3; session += 1) await followUps();
  assert.deepEqual(counted.methods, ['tools/list']);
  await rig.restart();
  await followUps();
  assert.deepEqual(counted.methods, ['tools/list']);
});

test('progress names the tool, and the trace tells the server, its era, the time and the size', async () => {
  rig.model.script(answer(call('dual__add', { a: 2, b: 3 })), answer(text('Done.')));
  const asked = turnWith('dual', { Streaming: true, Instruction: INSTRUCTION });
  const stream = await (await rig.stream(asked, { route: '/execute?Progress=true', key: KEY })).end();
  const progress = stream.of('progress').map(({ data }) => JSON.parse(data)).filter(({ Kind }) => Kind === 'server_tool');
  assert.deepEqual(progress.map(({ Name, State, Successful }) => [Name, State, Successful]), [['dual__add', 'started', undefined], ['dual__add', 'finished', true]]);
  const { ToolCalls: [{ Name, Mcp, ExecutionMs, ResultBytes }] } = await traceOf(asked);
  assert.deepEqual([Name, Mcp, ResultBytes], ['dual__add', { Server: 'dual', Tool: 'add', Era: 'modern' }, '{"sum":5}'.length]);
  assert.ok(ExecutionMs >= 0);
});

test('a call that a human has to approve runs once, with the arguments that stand, and not before', async () => {
  const paused = async (Instruction) => {
    rig.model.script(answer(call('dual__delete_row', { id: 7 })));
    const asked = turnWith('dual', { Instruction });
    const { Kind, ToolCalls: [question] } = resultOf(await post(asked));
    assert.equal(Kind, 'client_tool_continuation');
    const { ToolCallId, ...shown } = JSON.parse(question.ArgumentsJson);
    assert.deepEqual([question.ToolCallId, question.Name], [`apr_${ToolCallId}`, 'agent_approve_tool']);
    assert.deepEqual(shown, { Name: 'dual__delete_row', Arguments: { id: 7 }, Message: 'Really?', AllowEdit: true });
    assert.deepEqual(dual.calls, []);
    return { asked, decide: (decision) => ({ SessionId: asked.SessionId, TurnId: asked.TurnId, ToolResults: [{ ToolCallId: question.ToolCallId, ExecutionMs: 5, ...decision }] }) };
  };
  const approved = await paused(INSTRUCTION);
  const decision = approved.decide({ ResultJson: '{"Approved":true}' });
  rig.model.script(answer(text('Deleted.')));
  const answers = await Promise.all([post(decision), post(decision), post(decision)]);
  assert.equal(new Set(answers.map(({ text: body }) => body)).size, 1);
  assert.equal(resultOf(answers[0]).PrimaryOutputText, 'Deleted.');
  assert.deepEqual(dual.calls.map(({ name, arguments: given }) => [name, given]), [['delete_row', { id: 7 }]]);
  assert.deepEqual(outputsTo(rig), ['Deleted 7.']);
  const { ToolCalls: [{ Approval }] } = await traceOf(approved.asked);
  assert.deepEqual([Approval.Decision, Approval.Edited], ['approved', false], JSON.stringify(Approval));

  dual.clear();
  const edited = await paused(INSTRUCTION);
  assert.deepEqual(refusalOf(await post(edited.decide({ ResultJson: '{"Approved":true,"Arguments":{"id":"eight"}}' }))), [400, 'invalid_field']);
  rig.model.script(answer(text('Deleted.')));
  resultOf(await post(edited.decide({ ResultJson: '{"Approved":true,"Arguments":{"id":8}}' })));
  assert.deepEqual(dual.calls.map(({ arguments: given }) => given), [{ id: 8 }]);

  dual.clear();
  const refused = await paused(INSTRUCTION);
  rig.model.script(answer(text('Left.')));
  resultOf(await post(refused.decide({ ResultJson: '{"Approved":false,"Reason":"Not this one."}' })));
  assert.match(errorIn(outputsTo(rig)[0]), /refused this call\. Reason: Not this one\./);
  assert.deepEqual(dual.calls, []);
});
