// The variables and secrets that the product knows, as docs/configuration.md lists them.
import { readFileSync } from 'node:fs';

/** Their names, with those that continue a list of keys. */
export function variables() {
  const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  const [, table] = /## Variables and secrets\n([^]*?)\n## /.exec(page);
  const names = [...table.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name]) => name);
  const [, first, last] = /`API_KEYS_(\d)` to `API_KEYS_(\d)`/.exec(table);
  return [...names, ...Array.from({ length: last - first + 1 }, (_, more) => `API_KEYS_${Number(first) + more}`)];
}
