// The reference server `@modelcontextprotocol/server-everything`, on this machine alone: by itself it listens on every
// network. It speaks the protocol's older era, with sessions, and is meant for tests: one of its tools tells its environment.
//
//   PORT=39311 node tests/fakes/mcp_servers/everything.mjs      serves http://127.0.0.1:39311/mcp
import net from 'node:net';

const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (port, ...more) {
  this.once('listening', () => console.log(`listening on http://127.0.0.1:${this.address().port}/mcp`));
  return listen.call(this, Number(port), '127.0.0.1', ...more);
};
await import('../../../node_modules/@modelcontextprotocol/server-everything/dist/transports/streamableHttp.js');
