// `deploy` and `config`: a configuration becomes what wrangler and workerd read.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { faultsOf, read } from './catalog_file.mjs';
import { secretsOf, valuesOf } from './configuration.mjs';
import { Fault } from './fault.mjs';
import { bucketBinding } from './jurisdictions.mjs';
import { PRODUCT } from './package_files.mjs';
import { onSignal } from './signals.mjs';
import { workerdConfig } from './workerd_config.mjs';
import { wranglerConfig } from './wrangler_config.mjs';

/**
 * Uploads what `settings` configure, with the secrets of their files, then the catalog; resolves to the exit code. What wrangler
 * reads stays in `wranglerFile`, for its other commands about this Worker.
 */
export async function deploy({ settings, wranglerFile, dryRun, print }) {
  const { Catalog, Cloudflare = {}, Environment } = settings;
  refuseShared(settings);
  const wrangler = found();
  let catalog;
  if (Catalog) {
    // That of /Cloudflare would be refused: it belongs to another Worker.
    const at = Environment === undefined ? '' : `/Environments/${Environment}`;
    if (!/[^0]/.test(Cloudflare.CatalogId ?? '')) throw new Fault(`${at}/Cloudflare/CatalogId: is ${Cloudflare.CatalogId ? 'no id' : 'missing'}; wrangler kv namespace create my-agent-catalog prints one`);
    catalog = read(Catalog);
    const faults = await faultsOf(catalog);
    if (faults.length > 0) throw new Fault(`the catalog ${Catalog} is wrong:\n${faults.join('\n')}`);
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'aptix-edge-deploy-'));
  try {
    const config = path.join(folder, 'wrangler.toml');
    const secrets = secretsOf(settings);
    const toml = wranglerConfig(settings, wrangler.version);
    writeFileSync(config, toml);
    keep(wranglerFile, toml, print);
    const file = path.join(folder, 'secrets.json');
    writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 });
    const given = Object.keys(secrets).length > 0 ? ['--secrets-file', file] : [];
    const code = await run(wrangler.program, ['deploy', '--config', config, '--tag', PRODUCT.commit, ...given, ...(dryRun ? ['--dry-run', '--outdir', path.join(folder, 'out')] : [])]);
    if (code !== 0 || dryRun || !Catalog) return code;
    // After the Worker, which reads a catalog of today's form; and the text that was judged, whatever the file holds by now.
    const judged = path.join(folder, 'catalog.json');
    writeFileSync(judged, catalog);
    return await run(wrangler.program, ['kv', 'key', 'put', '--remote', '--config', config, '--binding', 'CATALOG', 'catalog', '--path', judged]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes the file that stays, beside the configuration; a folder that takes none hinders no upload. */
function keep(file, toml, print) {
  try {
    writeFileSync(file, toml);
    print(`wrangler's other commands about this Worker take --config ${file}`);
  } catch (error) {
    print(`${file} cannot be written: ${error.code}`);
  }
}

/** What two Workers of Cloudflare's cannot share: one would write the catalog, take the requests or erase the files of the other. */
const OF_ONE_WORKER = ['CatalogId', 'Routes', 'FilesBucket'];

function refuseShared({ Environment, inherited = {} }) {
  const shared = OF_ONE_WORKER.filter((name) => name in inherited);
  if (shared.length > 0) {
    const faults = shared.map((name) => `/Environments/${Environment}/Cloudflare/${name}: is missing; that of /Cloudflare belongs to another Worker${name === 'Routes' ? '; [] is none, but the address at workers.dev' : ''}`);
    throw new Fault(faults.join('\n'));
  }
}

/** Writes both configurations into a folder; resolves to what was written. */
export async function writeConfiguration(settings, to) {
  mkdirSync(to, { recursive: true });
  const names = [...Object.keys(valuesOf(settings)), ...Object.keys(settings.Secrets)];
  const { MaxBytesOfFiles, Rates, Metering, Jurisdictions, Network: network } = settings;
  const folders = { objects: '/DIR/objects', control: '/DIR/control', ...(settings.Catalog && { catalog: '/DIR/catalog' }) };
  const files = {
    'wrangler.toml': wranglerConfig(settings),
    'config.capnp': workerdConfig({ address: '127.0.0.1:8787', ...folders, names, network, front: { MaxBytesOfFiles, Rates, Metering, Buckets: Jurisdictions?.map(bucketBinding) } }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(to, name), text);
  return Object.keys(files).map((name) => path.join(to, name));
}

/** `{ program, version }` of wrangler: of the folder where the command runs, else of the package's neighbours. */
function found() {
  for (const from of [path.join(process.cwd(), 'package.json'), import.meta.filename]) {
    try {
      const manifest = createRequire(from).resolve('wrangler/package.json');
      const program = path.join(path.dirname(manifest), 'bin/wrangler.js');
      if (existsSync(program)) return { program, version: JSON.parse(readFileSync(manifest, 'utf8')).version };
    } catch {
      // Not there; the next place.
    }
  }
  throw new Fault('deploy needs wrangler: npm install wrangler in this folder, then again');
}

/** Runs wrangler; resolves to its exit code. A signal ends it alone, so that the secrets that were written for it are removed behind it. */
async function run(program, args) {
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit', env: { WRANGLER_SEND_METRICS: 'false', ...process.env } });
  const forget = onSignal((name) => child.kill(name));
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', (error) => reject(new Fault(`wrangler could not be started: ${error.message}`)));
      child.once('exit', (code) => resolve(code ?? 1));
    });
  } finally {
    forget();
  }
}
