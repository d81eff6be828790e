// Node's SQLite, without the line that Node prints for it; older versions of Node lack it.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 16)) {
  console.error(`aptix-edge-server: Node ${process.versions.node} is too old; 22.16 or later is needed`);
  process.exit(1);
}
const { emitWarning } = process;
process.emitWarning = () => {};
const { DatabaseSync, backup } = await import('node:sqlite');
process.emitWarning = emitWarning;

export { DatabaseSync as Database, backup };
