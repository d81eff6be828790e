// The pages for readers: README.md and docs/. Owns what a page is made of: fenced blocks with their marks, headings with
// their anchors, links, and code within a line. What a page says is judged by the tests beside this file.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const INTERFACE = 'src/contract/interface';

/** Why a block is not run by the test, and what the reader needs for it. */
export const REASONS = {
  account: 'an account of Cloudflare',
  checkout: 'a checkout that may be changed',
  deployment: 'a deployed service',
  install: 'a machine on which programs may be installed',
  key: 'a key of a model service',
  minutes: 'minutes',
};

/** The languages of blocks, each with the marks that a block may have in its info string. */
const LANGUAGES = {
  // Commands in the page's first terminal, or with `serves`, a port, in a terminal of their own.
  // `fails`: the service refuses; `until`: repeated until this is in the output; `creates`: a file in the checkout.
  sh: ['serves', 'fails', 'until', 'creates', 'not-run'],
  // Saved as `file`; `catalog`: members that take the place of the built-in catalog's; `configuration`: members of server.json;
  // `output`: of the block before.
  json: ['file', 'catalog', 'configuration', 'output'],
  js: ['file'],
  tsx: ['file'],
  html: ['file'],
  // Run where it is not saved as `file`.
  ts: ['file'],
  // What the terminal shows in which that port is served: `shows`.
  text: ['output', 'shows'],
  // Asked of Workers Analytics Engine.
  sql: [],
  dotenv: [],
  // Of programs that stand beside a server of one's own.
  ini: [],
  nginx: [],
  caddy: [],
  dockerfile: [],
  mermaid: [],
};
/** The forms of marks that have a value; the others have none. */
const VALUES = {
  serves: /^\d{4,5}$/,
  shows: /^\d{4,5}$/,
  until: /^\S+$/,
  creates: /^[\w.-]+$/,
  'not-run': new RegExp(`^(?:${Object.keys(REASONS).join('|')})$`),
  file: /^(?:\.\.\/my-agent\/)?[\w.-]+$/,
};

/** Every page, README.md first. */
export function pages() {
  const names = readdirSync(path.join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', ...names.map((name) => `docs/${name}`)].map((name) => pageOf(name, readFileSync(path.join(ROOT, name), 'utf8')));
}

/** The names of the interface's pages, its index among them. */
export const interfacePages = () => readdirSync(path.join(ROOT, INTERFACE)).map((name) => `${INTERFACE}/${name}`);

/** `{name, text, prose, blocks, faults}`: `prose` are the lines outside of blocks as `{at, text}`, `at` counting from 1. */
export function pageOf(name, text) {
  const [prose, blocks, faults] = [[], [], []];
  let open;
  text.split('\n').forEach((line, index) => {
    const at = index + 1;
    const fence = /^(\s*)(```+|~~~+)(.*)$/.exec(line);
    if (open) {
      if (line === '```') blocks.push({ ...open, text: open.lines.join('\n') }), (open = undefined);
      else open.lines.push(line);
    } else if (fence) {
      if (fence[1] !== '' || fence[2] !== '```') faults.push(`${name}:${at} is no plain fence`);
      open = { page: name, at, lines: [], ...readInfo(fence[3], `${name}:${at}`, faults) };
    } else {
      prose.push({ at, text: line });
    }
  });
  if (open) faults.push(`${name}:${open.at} opens a block that nothing closes`);
  return { name, text, prose, blocks, faults };
}

/** The language and the marks of an info string: `sh serves=8787`. */
function readInfo(info, place, faults) {
  const [language, ...words] = info.split(' ');
  const known = LANGUAGES[language];
  if (!known) faults.push(`${place} has the unknown language "${language}"`);
  const marks = {};
  for (const word of words) {
    const [, mark, value = true] = /^([\w-]+)(?:=(.*))?$/.exec(word) ?? [];
    const isRight = known?.includes(mark) && (VALUES[mark] ? VALUES[mark].test(value) : value === true);
    if (!isRight) faults.push(`${place} has the unknown mark "${word}"`);
    marks[mark] = value;
  }
  if (['json', 'js', 'html', 'text'].includes(language) && words.length === 0) faults.push(`${place} does not say what it is`);
  return { language, marks };
}

/** Code within the lines of a page, as `{at, text}`. */
export const inlineCode = ({ prose }) =>
  prose.flatMap(({ at, text }) => [...text.matchAll(/(?<!`)`([^`]+)`(?!`)/g)].map(([, code]) => ({ at, text: code })));

/** A page's anchors, as GitHub makes them of its headings. */
export function anchorsOf({ prose }) {
  const seen = new Map();
  return prose.flatMap(({ text }) => {
    const [, heading] = /^#{1,6} (.+)$/.exec(text) ?? [];
    if (heading === undefined) return [];
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '');
    const anchor = plain.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return [before === 0 ? anchor : `${anchor}-${before}`];
  });
}

/** A page's links and pictures, as `{at, target}`. */
export const linksOf = ({ prose }) =>
  prose.flatMap(({ at, text }) => {
    const plain = text.replace(/`[^`]*`/g, '');
    const targets = [...plain.matchAll(/\]\(([^)\s]+)\)/g), ...plain.matchAll(/\bsrc="([^"]+)"/g)];
    return targets.map(([, target]) => ({ at, target }));
  });
