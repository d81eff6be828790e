// The Worker as two versions of it that meet: what the Worker in front, or an object, asks of an object is sent under another
// number of the inner protocol. Owns the module that stands in front of the Worker and changes the number, and nothing else, on
// the way; the object that reads it is the build's own.

/** Sets by how much the numbers differ: `{door, objects}`, of what the Worker in front asks and what objects ask each other. */
export const APART = '/versions-apart-of-the-tests';

/** The module to serve in front of the Worker's `index.js`: `[{name, contents}]`. */
export const TWO_VERSIONS = [
  {
    name: 'two_versions.js',
    contents: `import Worker, * as built from './index.js';
      const BINDINGS = ['SESSIONS', 'USERS', 'WORKSPACES', 'MCP_LISTS', 'KEY_SETS'];
      const apart = { door: 0, objects: 0 };
      const renumbered = (init, by) => {
        const [, number, rest] = /^(\\d+)( ?.*)$/.exec(init.headers.Caller);
        return { ...init, headers: { ...init.headers, Caller: Number(number) + by + rest } };
      };
      const between = (namespace, who) => ({
        idFromName: (name) => namespace.idFromName(name),
        getByName(name, options) {
          const object = namespace.getByName(name, options);
          return { fetch: (url, init) => object.fetch(url, renumbered(init, apart[who])) };
        },
      });
      const whole = (env, who) => ({ ...env, ...Object.fromEntries(BINDINGS.map((name) => [name, between(env[name], who)])) });
      const asOne = (Class, who) => class extends Class {
        constructor(ctx, env) {
          super(ctx, whole(env, who));
        }
      };
      export const SessionObject = asOne(built.SessionObject, 'objects');
      export const WorkspaceIndex = asOne(built.WorkspaceIndex, 'objects');
      export const McpLists = asOne(built.McpLists, 'objects');
      export const UserObject = asOne(built.UserObject, 'objects');
      export const KeySetObject = asOne(built.KeySetObject, 'objects');
      export default class extends asOne(Worker, 'door') {
        async fetch(request) {
          if (new URL(request.url).pathname !== '${APART}') return super.fetch(request);
          Object.assign(apart, await request.json());
          return new Response();
        }
      }`,
  },
];
