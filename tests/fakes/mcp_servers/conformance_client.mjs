// The built Worker as a client under test of `@modelcontextprotocol/conformance`: one turn in workerd, whose catalog names the
// server under test, and whose model calls every tool that it is offered, once.
//
// The suite starts a command for each scenario. This file as a command asks the process at CONFORMANCE_HOST, which has run
// `host` and has the modules and the Worker's sources in memory already.
import { pathToFileURL } from 'node:url';

const SERVER = 'tested';
const SAMPLES = { string: 'text', number: 1.5, integer: 2, boolean: true, array: [], object: {}, null: null };

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { MCP_CONFORMANCE_CONTEXT: context = '{}', CONFORMANCE_HOST } = process.env;
  const body = JSON.stringify({ url: process.argv[2], toolCalls: JSON.parse(context).toolCalls });
  const answered = await fetch(CONFORMANCE_HOST, { method: 'POST', body });
  console.log(await answered.text());
  process.exitCode = answered.ok ? 0 : 1;
}

/** Has turns for the command, until closed; resolves to `{ origin, close }`. */
export async function host() {
  const { recorded, serve } = await import('../../local_server.mjs');
  return serve(async (request, response) => {
    const { url, toolCalls = [] } = JSON.parse((await recorded(request, response)).text);
    const [status, said] = await turnWith(url, toolCalls).then((told) => [200, told], (fault) => [500, fault.stack]);
    response.writeHead(status).end(said);
  });
}

/** The arguments of a call: those that the scenario wants, else a value for each property. */
function argumentsFor({ name, parameters: { properties = {} } }, tools, toolCalls) {
  const wanted = toolCalls.find((one) => name === `${SERVER}__${one.name}`);
  if (wanted) return wanted.arguments;
  // A tool that echoes a schema is given that of the first tool, as the model sees it.
  if (properties.schema) return { schema: tools[0].parameters };
  return Object.fromEntries(Object.entries(properties).map(([key, { type }]) => [key, SAMPLES[type]]));
}

/** What the Worker made of the server, as JSON. */
async function turnWith(url, toolCalls) {
  const { Rig, resultOf, userTurn } = await import('../../e2e/harness.mjs');
  const { answer, call, text } = await import('../../e2e/scripted_model.mjs');
  // A Worker to itself: the lists of a server are kept by its URL.
  const rig = new Rig({
    catalog: (catalog) => {
      catalog.McpServers = { [SERVER]: { Url: url } };
      catalog.Modes[0].Tools.push(`${SERVER}/*`);
    },
  });
  await rig.start();
  try {
    rig.model.otherwise({
      play: (exchange) => {
        const { input, tools } = exchange.body;
        const offered = tools.filter(({ name }) => name.startsWith(`${SERVER}__`));
        const isFirst = input.every(({ type }) => type !== 'function_call_output');
        const said = isFirst && offered.length > 0
          ? answer(...offered.map((tool) => call(tool.name, argumentsFor(tool, offered, toolCalls))))
          : answer(text('Done.'));
        return said.play(exchange);
      },
    });
    const got = await rig.post(userTurn());
    const { ToolResults = [] } = resultOf(got);
    const tools = rig.model.bodies[0].tools.map(({ name }) => name);
    await rig.check();
    return JSON.stringify({ tools, results: ToolResults, warnings: got.json.Warnings }, null, 1);
  } finally {
    await rig.dispose();
  }
}
