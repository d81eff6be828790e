// The Worker with every object that it asks for on record. Owns the module that stands in front of the Worker, and answers
// with the record at one path of its own.

/** Answers with the objects that were asked for since the last request to it: `[{binding, jurisdiction?, hint?, name}]`. */
export const ASKED = '/asked-for-by-the-worker-of-the-tests';

/** The module to serve in front of the Worker's `index.js`: `[{name, contents}]`. */
export const PLACED = [
  {
    name: 'placed.js',
    contents: `import Worker, * as built from './index.js';
      const BINDINGS = ['SESSIONS', 'USERS', 'WORKSPACES', 'MCP_LISTS', 'KEY_SETS'];
      let asked = [];
      const recorded = (namespace, binding, jurisdiction) => ({
        jurisdiction: (name) => recorded(namespace.jurisdiction(name), binding, name),
        idFromName: (name) => namespace.idFromName(name),
        getByName(name, options) {
          asked.push({ binding, jurisdiction, hint: options?.locationHint, name });
          return namespace.getByName(name, options);
        },
      });
      const whole = (env) => ({ ...env, ...Object.fromEntries(BINDINGS.filter((name) => env[name]).map((name) => [name, recorded(env[name], name)])) });
      const onRecord = (Class) => class extends Class {
        constructor(ctx, env) {
          super(ctx, whole(env));
        }
      };
      export const SessionObject = onRecord(built.SessionObject);
      export const WorkspaceIndex = onRecord(built.WorkspaceIndex);
      export const McpLists = onRecord(built.McpLists);
      export const UserObject = onRecord(built.UserObject);
      export const KeySetObject = onRecord(built.KeySetObject);
      export default class extends onRecord(Worker) {
        fetch(request) {
          if (new URL(request.url).pathname !== '${ASKED}') return super.fetch(request);
          const told = asked;
          asked = [];
          return Response.json(told);
        }
      }`,
  },
];
