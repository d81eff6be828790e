// `make sbom`: what the product is made of and made with, as CycloneDX 1.6 in build/sbom.cdx.json. Both ecosystems:
// the crates of Cargo.lock and the npm packages of every package-lock.json, each with its version, licence and hash.
//
// `scope` says what is inside what is deployed: `required` are the crates compiled into the Worker and the packages that
// the playground's page bundles; `excluded` is everything else, which builds and tests it. The document is made of the
// two locks alone, so that the same locks give the same document.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TARGET = 'wasm32-unknown-unknown';
/** Where packages of npm are locked. */
const LOCKS = ['', 'clients/typescript', 'tests/bench'];
const PAGE = path.join(ROOT, 'build-playground/playground');

const metadata = (...more) =>
  JSON.parse(execFileSync('cargo', ['metadata', '--locked', '--format-version', '1', ...more], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 }));

/** `{components, dependencies, root}` of the crates. */
function crates() {
  const all = metadata();
  const own = new Set(all.workspace_members);
  const hashes = checksums();
  const deployed = reachable(metadata('--filter-platform', TARGET));
  const refs = new Map(all.packages.map(({ id, name, version }) => [id, `pkg:cargo/${name}@${version}`]));
  const components = all.packages
    .filter(({ id }) => !own.has(id))
    .map(({ id, name, version, license, description }) => ({
      ...component(refs.get(id), name, version, license, deployed.has(id)),
      ...(description && { description: description.trim() }),
      ...(hashes.has(`${name}@${version}`) && { hashes: [{ alg: 'SHA-256', content: hashes.get(`${name}@${version}`) }] }),
    }));
  const dependencies = all.resolve.nodes.map(({ id, dependencies: on }) => ({ ref: refs.get(id), dependsOn: on.map((each) => refs.get(each)).sort() }));
  const root = all.packages.find(({ name }) => name === 'aptix-edge');
  return { components, dependencies, root, refs };
}

/** The crates that are compiled into the Worker: what only runs during a build is none of them. */
function reachable({ resolve, packages, workspace_members: own }) {
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const isMacro = new Set(packages.filter(({ targets }) => targets.some(({ kind }) => kind.includes('proc-macro'))).map(({ id }) => id));
  const start = packages.find(({ name }) => name === 'aptix-edge').id;
  const found = new Set([start]);
  for (const id of found) {
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      if (!own.includes(pkg) && !isMacro.has(pkg) && kinds.some(({ kind }) => kind === null)) found.add(pkg);
    }
  }
  return found;
}

/** The checksum of each crate, by `name@version`: `cargo metadata` does not tell it. */
function checksums() {
  const lock = readFileSync(path.join(ROOT, 'Cargo.lock'), 'utf8');
  const entries = lock.matchAll(/^name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"/gm);
  return new Map([...entries].map(([, name, version, hash]) => [`${name}@${version}`, hash]));
}

/** `{components, dependencies}` of the packages of npm. */
function packages() {
  const inside = bundled();
  const components = new Map();
  const dependencies = new Map();
  for (const folder of LOCKS) {
    const { packages: locked } = JSON.parse(readFileSync(path.join(ROOT, folder, 'package-lock.json'), 'utf8'));
    for (const [place, { version, license, integrity, dependencies: on = {}, optionalDependencies = {}, link }] of Object.entries(locked)) {
      if (place === '' || link) continue;
      const name = nameOf(place);
      const ref = refOf(name, version);
      const isInside = inside.has(`${name} ${version}`);
      components.set(ref, { ...component(ref, name, version, license, isInside), ...(integrity && { hashes: [hashOf(integrity)] }) });
      const found = Object.keys({ ...on, ...optionalDependencies }).flatMap((needed) => installed(locked, place, needed));
      dependencies.set(ref, [...new Set([...(dependencies.get(ref) ?? []), ...found])].sort());
    }
  }
  return {
    components: [...components.values()],
    dependencies: [...dependencies].map(([ref, dependsOn]) => ({ ref, dependsOn })),
  };
}

/** The packages inside the playground's page, `name version`, as its list of licences names them. */
function bundled() {
  const list = readdirSync(PAGE).find((file) => file.startsWith('licences-'));
  const text = readFileSync(path.join(PAGE, list), 'utf8');
  return new Set([...text.matchAll(/^=== (\S+ \S+) /gm)].map(([, package_]) => package_));
}

/** The package that `place` gets for a name, as Node finds it: in its own folder, else in one further up. */
function installed(locked, place, name) {
  for (let folder = place; ; folder = folder.slice(0, folder.lastIndexOf('node_modules')).replace(/\/$/, '')) {
    const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    const found = locked[candidate];
    if (found?.version) return [refOf(name, found.version)];
    if (folder === '') return []; // optional, and not for this platform
  }
}

const nameOf = (place) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
const refOf = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** `sha512-…` in base64, as CycloneDX writes it. */
function hashOf(integrity) {
  const [algorithm, digest] = integrity.split(' ')[0].split('-');
  return { alg: algorithm.toUpperCase().replace('SHA', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') };
}

const component = (purl, name, version, license, isInside) => ({
  type: 'library',
  'bom-ref': purl,
  name,
  version,
  scope: isInside ? 'required' : 'excluded',
  ...(license && { licenses: [licenceOf(license)] }),
  purl,
});

/** An expression of SPDX, for which Cargo's older spelling of "or" is a slash; or whatever else the package says. */
const licenceOf = (license) =>
  /^SEE LICENSE/.test(license) ? { license: { name: license } } : { expression: license.replaceAll('/', ' OR ') };

const by = (member) => (one, other) => (one[member] < other[member] ? -1 : one[member] > other[member] ? 1 : 0);

const ofCargo = crates();
const ofNpm = packages();
const { name, version, license, description, id } = ofCargo.root;
const document = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { component: { type: 'application', 'bom-ref': ofCargo.refs.get(id), name, version, description, licenses: [{ license: { id: license } }], purl: ofCargo.refs.get(id) } },
  components: [...ofCargo.components, ...ofNpm.components].sort(by('bom-ref')),
  dependencies: [...ofCargo.dependencies, ...ofNpm.dependencies].sort(by('ref')),
};
const known = new Set([...document.components.map((each) => each['bom-ref']), ofCargo.refs.get(id)]);
document.dependencies = document.dependencies
  .filter(({ ref }) => known.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => known.has(each)) }));
mkdirSync(path.join(ROOT, 'build'), { recursive: true });
const file = path.join(ROOT, 'build/sbom.cdx.json');
writeFileSync(file, `${JSON.stringify(document, null, 1)}\n`);
const inside = document.components.filter(({ scope }) => scope === 'required').length;
console.log(`sbom: ${path.relative(process.cwd(), file)}: ${document.components.length} components, ${inside} of them inside what is deployed`);
