// The reference server `@modelcontextprotocol/server-everything`, on this machine alone: by itself it listens on every
// network and lets every page call. Speaks the protocol's older era, with sessions. PORT as of the package (3001).
//
//   PORT=39311 node tests/mcp_servers/everything.mjs      serves http://127.0.0.1:39311/mcp
import net from 'node:net';

const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (port, ...more) {
  this.once('listening', () => console.log(`listening on http://127.0.0.1:${this.address().port}/mcp`));
  return listen.call(this, Number(port), '127.0.0.1', ...more);
};
await import('../../node_modules/@modelcontextprotocol/server-everything/dist/transports/streamableHttp.js');
