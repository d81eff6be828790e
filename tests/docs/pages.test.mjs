// The pages for readers are whole: short where they must be, their links lead somewhere, and what they name is there.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT, anchorsOf, inlineCode, interfacePages, linksOf, pageOf, pages } from './pages.mjs';
import { problemsOf } from './commands.mjs';

const README_BYTES = 8 * 1024;
/** The longest line of prose, in characters. Tables and links are exempt: they cannot be broken. */
const LINE = 120;
/** Beside the pages these are read, so their links are checked, too. */
const OTHERS = ['CONTRIBUTING.md', 'clients/python/README.md', 'clients/typescript/README.md', ...interfacePages()];

const all = pages();
const read = (name) => readFileSync(path.join(ROOT, name), 'utf8');
const others = OTHERS.map((name) => pageOf(name, read(name)));
const none = (faults) => assert.deepEqual(faults, [], faults.join('\n'));

test('the README has at most 8 KB', () => {
  assert.ok(Buffer.byteLength(read('README.md')) <= README_BYTES, `it has ${Buffer.byteLength(read('README.md'))} bytes`);
});

test('every block has a language and marks that the tests know', () => none(all.flatMap(({ faults }) => faults)));

test('every link between pages leads to a file and a heading that are there', () => {
  const known = new Map([...all, ...others].map((page) => [page.name, page]));
  const faults = [...known.values()].flatMap((page) =>
    linksOf(page).flatMap(({ at, target }) => {
      if (/^[a-z]+:/.test(target)) return [];
      const [file, anchor] = target.split('#');
      const name = file === '' ? page.name : path.join(path.dirname(page.name), file);
      const isThere = existsSync(path.join(ROOT, name));
      const found = known.get(name) ?? (isThere && name.endsWith('.md') ? pageOf(name, read(name)) : undefined);
      const leads = isThere && (anchor === undefined || (found && anchorsOf(found).includes(anchor)));
      return leads ? [] : [`${page.name}:${at} links to ${target}`];
    }),
  );
  none(faults);
});

test('a link that names a section of the interface leads to its page', () => {
  const links = others.flatMap(({ name, prose }) => prose.flatMap(({ text }) => [...text.matchAll(/\[section (\d+)[^\]]*\]\(([^)]+)\)/g)].map((link) => [name, ...link])));
  assert.ok(links.length > 30, `${links.length}`);
  none(links.filter(([, , number, target]) => !target.startsWith(`${number.padStart(2, '0')}-`)).map(([name, link]) => `${name}: ${link}`));
});

test('a part of the interface that code cites is a heading of its page', () => {
  const headings = new Map(
    interfacePages().map((name) => [Number(path.basename(name).slice(0, 2)), read(name).split('\n').filter((line) => line.startsWith('#')).map((line) => line.replace(/^#+ /, ''))]),
  );
  const cited = ['src', 'tests', 'clients', 'tools', 'server'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true })
      .filter((file) => /\.(?:rs|mjs|ts|tsx|py)$/.test(file) && !/node_modules|dist\//.test(file))
      .flatMap((file) => [...read(path.join(folder, file)).matchAll(/interface §(\d+), (?!AGN)(?=[A-Z])(.{0,40})/g)].map(([, number, part]) => [file, Number(number), part])),
  );
  assert.ok(cited.length > 30, `${cited.length}`);
  none(cited.filter(([, number, part]) => !headings.get(number)?.some((heading) => part.startsWith(heading))).map(([file, number, part]) => `${file}: §${number}, ${part}`));
});

test('the index names every page', () => {
  const index = linksOf(all.find(({ name }) => name === 'docs/README.md')).map(({ target }) => `docs/${target.split('#')[0]}`);
  none(all.map(({ name }) => name).filter((name) => name !== 'README.md' && name !== 'docs/README.md' && !index.includes(name)));
});

/** What stands below a heading up to the next one, as lines. */
function sectionOf(page, anchor) {
  const headings = page.prose.filter(({ text }) => /^#+ /.test(text)).map(({ at }) => at);
  const found = anchorsOf(page).indexOf(anchor);
  return page.text.split('\n').slice(headings[found], (headings[found + 1] ?? Infinity) - 1);
}

test('what an operator asks is answered below one heading or two, each short enough to be read', () => {
  const index = all.find(({ name }) => name === 'docs/README.md');
  const rows = sectionOf(index, 'what-an-operator-asks').filter((line) => line.startsWith('| ') && line.includes('?'));
  assert.equal(rows.length, 15);
  const faults = rows.flatMap((row) => {
    const links = [...row.matchAll(/\]\(([\w.-]+)#([\w-]+)\)/g)];
    if (links.length < 1 || links.length > 2) return [`${row} has ${links.length} links to headings`];
    return links.flatMap(([, file, anchor]) => {
      const lines = sectionOf(all.find(({ name }) => name === `docs/${file}`), anchor).length;
      return lines >= 5 && lines <= 100 ? [] : [`${file}#${anchor} has ${lines} lines`];
    });
  });
  none(faults);
});

test('every variable and binding of the configuration stands in wrangler.toml, and make dev hands every variable on', () => {
  const { text } = all.find(({ name }) => name === 'docs/configuration.md');
  const named = [...text.matchAll(/^\| `([A-Z_]+)`( \(secret\))? \|/gm)];
  assert.ok(named.length > 30, `${named.length}`);
  const [toml, dev] = [read('wrangler.toml'), read('tools/dev/dev.mjs')];
  const settings = dev.slice(dev.indexOf('const SETTINGS'), dev.indexOf('];', dev.indexOf('const SETTINGS')));
  assert.ok(settings.includes('`API_KEYS_${index + 2}`'), 'make dev hands on the keys that continue API_KEYS');
  const variables = text.slice(0, text.indexOf('## Keys of clients'));
  none(
    named.flatMap(([, name, secret]) => [
      ...(toml.includes(secret ? `\`${name}\`` : name) || (secret && toml.includes(name)) ? [] : [`wrangler.toml lacks ${name}`]),
      ...(variables.includes(`| \`${name}\``) && !settings.includes(`'${name}'`) ? [`make dev does not hand ${name} on`] : []),
    ]),
  );
});

test("every event of one's own server stands in the table of its log, and no other does", () => {
  const told = readdirSync(path.join(ROOT, 'server'), { recursive: true })
    .filter((file) => file.endsWith('.mjs'))
    .flatMap((file) => read(path.join('server', file)).split('\n'))
    .flatMap((line) => (/\bevent: (.*?),/.exec(line)?.[1] ?? '').match(/(?<=')\w+(?=')/g) ?? []);
  const table = sectionOf(all.find(({ name }) => name === 'docs/own-server.md'), 'its-log').filter((line) => line.startsWith('| `'));
  const named = table.flatMap((row) => row.split('|')[1].match(/\w+/g));
  assert.deepEqual(named.toSorted(), [...new Set(told)].toSorted());
});

test("the unit for systemd sends its signal to the server alone, and not to the runtime beside it, which would end at once", () => {
  const unit = sectionOf(all.find(({ name }) => name === 'docs/own-server.md'), 'systemd');
  assert.ok(unit.includes('KillMode=mixed'));
  assert.ok(unit.includes('RestartSec=5'), 'a disk that was full for a minute leaves no unit behind that systemd starts no more');
});

test('the image for Docker has authorities by which the runtime trusts a model service, and a folder that its user may write', () => {
  const image = sectionOf(all.find(({ name }) => name === 'docs/own-server.md'), 'docker').join('\n');
  assert.match(image, /ca-certificates[^]*chown node:node \/data[^]*USER node[^]*VOLUME \/data/);
});

test('no line of prose is longer than a reader wants', () => {
  const isExempt = (text) => text.startsWith('|') || text.startsWith('<img') || /\]\([^)]{60,}\)/.test(text);
  const long = ({ name, prose }) => prose.filter(({ text }) => [...text].length > LINE && !isExempt(text)).map(({ at }) => `${name}:${at}`);
  none(all.flatMap(long));
});

test('the commands, the JSON and the files that lines name are right and there', async () => {
  const faults = [];
  for (const page of all) {
    for (const { at, text } of inlineCode(page)) {
      for (const problem of await wrongIn(text)) faults.push(`${page.name}:${at} \`${text}\`: ${problem}`);
    }
  }
  none(faults);
});

const isThere = (name) => existsSync(path.join(ROOT, name));

/** What is wrong with a piece of code within a line; `…` stands for something that the reader fills in. */
async function wrongIn(code) {
  if (code.includes('…')) return [];
  if (/^(?:[A-Z_]+=\S+ )*(?:make|npx|wrangler) /.test(code)) return problemsOf(code);
  if (/^(?:\{"|\[\{)/.test(code)) return isJson(code) ? [] : ['is not JSON'];
  if (/^(?:src|tests|tools|docs|clients|\.ci)(?:\/[\w.-]*)+$/.test(code)) return isThere(code) ? [] : ['there is no such file'];
  // The developers' page names files of src/ by their folder there.
  if (/^\w+\/[\w/]*(?:\.rs|\.json|\/)$/.test(code)) return isThere(`src/${code}`) || isThere(`clients/playground/src/${code}`) ? [] : ['there is no such file in src/'];
  return [];
}

/** A form such as `{"Id","Tenant"}` lists members. */
function isJson(text) {
  const listed = text.replace(/(?<=[{,] ?)"(\w+)"(?= ?[,}])/g, '"$1": 0');
  try {
    return JSON.parse(listed) !== undefined;
  } catch {
    return false;
  }
}

/** The files in version control; without git, what .gitignore does not name. */
function kept() {
  const { status, stdout } = spawnSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' });
  if (status === 0) return stdout.trim().split('\n');
  const ignored = read('.gitignore').trim().split('\n').map((line) => line.replaceAll('/', ''));
  return readdirSync(ROOT).filter((name) => name !== '.git' && !ignored.some((pattern) => path.matchesGlob(name, pattern)));
}

test('a decision says why each package and each entry at the top is there', () => {
  const decisions = all.find(({ name }) => name === 'docs/decisions.md').text;
  const named = new Set([...decisions.matchAll(/`([^`]+)`/g)].map(([, code]) => code));
  const toml = read('Cargo.toml').split(/^\[/m);
  const crates = toml
    .filter((section) => /^(?:dev-|workspace\.)?dependencies\]/.test(section))
    .flatMap((section) => [...section.matchAll(/^([\w-]+) = /gm)].map(([, crate]) => crate));
  const packages = Object.keys(JSON.parse(read('package.json')).devDependencies);
  const top = [...new Set(kept().map((file) => file.split('/')[0]))];
  assert.ok(crates.includes('worker') && packages.includes('wrangler') && top.includes('src'));
  none([...crates, ...packages, ...top].filter((name) => !named.has(name)));
});
