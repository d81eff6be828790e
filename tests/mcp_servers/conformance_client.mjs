// The built Worker as a client under test of `@modelcontextprotocol/conformance`: runs one turn in workerd, whose catalog
// names the server under the URL given, and whose model calls every tool that it is offered, once.
//
//   conformance client --command 'node tests/mcp_servers/conformance_client.mjs' --scenario tools_call
//
// MCP_CONFORMANCE_CONTEXT may say which tools to call with which arguments; others get some of their schema.
import { Rig, resultOf, userTurn } from '../e2e/harness.mjs';
import { answer, call, text } from '../e2e/scripted_model.mjs';

const SERVER = 'tested';
const SAMPLES = { string: 'text', number: 1.5, integer: 2, boolean: true, array: [], object: {}, null: null };

const url = process.argv[2];
const { toolCalls = [] } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

/** The arguments of a call: those that the scenario wants, else a value for each property. */
function argumentsFor({ name, parameters: { properties = {} } }, tools) {
  const wanted = toolCalls.find((one) => name === `${SERVER}__${one.name}`);
  if (wanted) return wanted.arguments;
  // A tool that echoes a schema is given that of the first tool, as the model sees it.
  if (properties.schema) return { schema: tools[0].parameters };
  return Object.fromEntries(Object.entries(properties).map(([key, { type }]) => [key, SAMPLES[type]]));
}

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
        ? answer(...offered.map((tool) => call(tool.name, argumentsFor(tool, offered))))
        : answer(text('Done.'));
      return said.play(exchange);
    },
  });
  const got = await rig.post(userTurn());
  const { ToolResults = [] } = resultOf(got);
  const tools = rig.model.bodies[0].tools.map(({ name }) => name);
  console.log(JSON.stringify({ tools, results: ToolResults, warnings: got.json.Warnings }, null, 1));
  await rig.check();
} finally {
  await rig.dispose();
}
