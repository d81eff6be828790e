// Serves for local work, as `make dev` does, from the package: without Rust and without an account. The model service is a
// stand-in where none is configured.
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { secretsIn } from '../../tools/dev/catalog_secrets.mjs';
import { demoCatalog } from '../../tools/dev/demo_catalog.mjs';
import { localServices } from '../../tools/dev/local_services.mjs';
import { read } from './catalog_file.mjs';
import { Fault } from './fault.mjs';
import { PRODUCT } from './package_files.mjs';
import { serve } from './serve.mjs';

/** Where it keeps its sessions unless a folder is named. */
const OWN = '.aptix-edge';
/** What streams get at the end: whoever works here does not want to wait. */
const DRAIN_MS = 1000;

/** Serves on a port of this machine until a signal ends it; resolves to the exit code. */
export async function dev({ port, data: named, catalog, environment = process.env, say }) {
  const data = named ?? path.join(OWN, String(port));
  const scratch = mkdtempSync(path.join(tmpdir(), 'aptix-edge-dev-'));
  try {
    const known = [...PRODUCT.variables, ...(catalog ? secretsIn(read(catalog)) : [])];
    const given = Object.fromEntries(known.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
    const { settings, receiver, spareUrl, brought } = await localServices(given, port, say);
    let Catalog = catalog && path.resolve(catalog);
    if (!Catalog) {
      Catalog = path.join(scratch, 'catalog.json');
      writeFileSync(Catalog, (await demoCatalog(receiver.url, spareUrl)).catalog);
    }
    // It stands in the current folder, which may be a stranger's repository that has brought it: what is written would go where
    // its links lead, or where it leads itself.
    const refuse = (link) => {
      if (link) throw new Fault(`${link} is a link, and nothing is written where one leads; remove it, or take another folder by --data`);
    };
    if (named === undefined) refuse([OWN, data].find((each) => lstatSync(each, { throwIfNoEntry: false })?.isSymbolicLink()));
    mkdirSync(data, { recursive: true });
    const within = readdirSync(data, { recursive: true, withFileTypes: true }).find((each) => each.isSymbolicLink());
    refuse(within && path.join(within.parentPath, within.name));
    // What is kept here belongs into no repository.
    writeFileSync(path.join(data, '.gitignore'), '*\n');
    return await serve({
      settings: { Variables: {}, Secrets: {}, Catalog, Network: 'any' },
      data,
      address: `127.0.0.1:${port}`,
      drainMs: DRAIN_MS,
      isChecked: !catalog,
      extra: settings,
      tell: ({ event, level, faults = [] }) => level === 'error' && say(`${event}\n${faults.join('\n')}`),
      onServing: (origin) => {
        say(`serving on ${origin}`);
        if (settings.PLAYGROUND === 'on') say(`the playground is at ${origin}/${brought({ isDemo: !catalog, catalog })}`);
      },
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
