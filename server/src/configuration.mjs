// The operator's one file of configuration, from which both config.capnp (workerd_config.mjs) and wrangler.toml
// (wrangler_config.mjs) are made. Owns its members, and refuses what it does not know.
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { secretsIn } from '../../tools/dev/catalog_secrets.mjs';
import { NOT_UTF8 } from './catalog_file.mjs';
import { Fault } from './fault.mjs';
import { JURISDICTIONS } from './jurisdictions.mjs';
import { PRODUCT } from './package_files.mjs';
import { textOf } from './text.mjs';

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** The farthest that a name may be from a known one to count as its misspelling. */
const NEAR = 3;

const text = (value) => (typeof value === 'string' && value !== '' ? undefined : 'is a text');
const flag = (value) => (typeof value === 'boolean' ? undefined : 'is true or false');
const whole = (least, most = Number.MAX_SAFE_INTEGER) => (value) =>
  Number.isInteger(value) && value >= least && value <= most ? undefined : `is a whole number${most < Number.MAX_SAFE_INTEGER ? ` from ${least} to ${most}` : ` of at least ${least}`}`;
const oneOf = (...names) => (value) => (names.includes(value) ? undefined : `is one of ${names.join(', ')}`);
const listOf = (isOne, what) => (value) => (Array.isArray(value) && value.every(isOne) ? undefined : `is a list of ${what}`);
const any = () => undefined;
const name = (value) => (typeof value === 'string' && /^[a-z0-9][a-z0-9-]{0,62}$/.test(value) ? undefined : 'is a name of small letters, digits and hyphens');

const NAMES = listOf((one) => typeof one === 'string', 'names');
const RATE = { Limit: whole(1), PeriodS: oneOf(10, 60) };
const MEMBERS = {
  Variables: any,
  Secrets: any,
  Catalog: text,
  Rates: { Keys: RATE, Users: RATE },
  Metering: flag,
  MaxBytesOfFiles: whole(0),
  MinBytesFree: whole(0),
  Log: text,
  Network: oneOf('public', 'any'),
  Jurisdictions: listOf((one) => JURISDICTIONS.includes(one), `jurisdictions: ${JURISDICTIONS.join(', ')}`),
  Cloudflare: {
    Name: name,
    AccountId: text,
    Routes: listOf((route) => typeof route === 'string' && route !== '', 'texts, a domain or a pattern such as agent.example.com/*'),
    Zone: text,
    WorkersDev: flag,
    CatalogId: text,
    FilesBucket: text,
    MeteringDataset: text,
    RateNamespaces: { Keys: text, Users: text },
    CpuMs: whole(10, 300_000),
    Logs: { Destinations: NAMES, InvocationLogs: flag },
    Traces: { Destinations: NAMES, SamplingRate: (value) => (typeof value === 'number' && value >= 0 && value <= 1 ? undefined : 'is a number from 0 to 1') },
    Placement: oneOf('smart', 'off'),
  },
  Environments: any,
};

/**
 * What a file configures, or one of its environments: the members of `MEMBERS` without `Environments`, with paths made
 * absolute; `Secrets` are read by `secretsOf`. Throws a `Fault` with every fault that was found.
 */
export function configuration(file, environment) {
  const all = parsed(file);
  const faults = faultsOf(all, MEMBERS, '');
  const environments = all.Environments ?? {};
  if (!isRecord(environments)) faults.push('/Environments: is an object, an environment a member');
  else {
    const { Environments, ...ofOne } = MEMBERS;
    for (const [called, own] of Object.entries(environments)) {
      faults.push(...(name(called) ? [`/Environments/${called}: ${name(called)}`] : faultsOf(own, ofOne, `/Environments/${called}`)));
    }
    if (environment !== undefined && !Object.hasOwn(environments, environment)) {
      faults.push(`/Environments: has no ${environment}${suggestion(environment, Object.keys(environments))}`);
    }
  }
  if (faults.length > 0) throw new Fault(faults.map((fault) => `${file}: ${fault}`).join('\n'));
  const { Environments, ...common } = all;
  const found = environment === undefined ? common : merged(common, environments[environment]);
  const at = (place) => place && path.resolve(path.dirname(file), place);
  const Secrets = Object.fromEntries(Object.entries(found.Secrets ?? {}).map(([called, place]) => [called, at(place)]));
  // What an environment has of the members for Cloudflare without naming it.
  const named = environments[environment]?.Cloudflare ?? {};
  const inherited = environment === undefined ? {} : Object.fromEntries(Object.entries(common.Cloudflare ?? {}).filter(([called]) => !(called in named)));
  const result = { Variables: {}, ...found, inherited, Secrets, Catalog: at(found.Catalog), Log: at(found.Log), Environment: environment };
  const unknown = variableFaults(result);
  if (unknown.length > 0) throw new Fault(unknown.map((fault) => `${file}: ${fault}`).join('\n'));
  return result;
}

/** What is configured without a file. */
export const nothing = () => ({ Variables: {}, Secrets: {} });

/** The values of the secrets. A file that others may read holds no secret, and neither does one that is empty. */
export function secretsOf({ Secrets }) {
  const faults = [];
  const values = {};
  for (const [called, file] of Object.entries(Secrets)) {
    try {
      const mode = statSync(file).mode & 0o777;
      const text = textOf(readFileSync(file));
      values[called] = text?.replace(/\r?\n$/, '') ?? '';
      // No program is handed a text with a NUL, and what Node says of one repeats it.
      if (text === undefined || text.includes('\0')) faults.push(`/Secrets/${called}: ${file} is no text in UTF-8`);
      else if (values[called].trim() === '') faults.push(`/Secrets/${called}: ${file} is empty; write the secret into it, or leave ${called} out`);
      if (mode !== 0o600) faults.push(`/Secrets/${called}: ${file} has the mode 0${mode.toString(8)}; it has to be 0600: chmod 600 ${file}`);
    } catch (error) {
      faults.push(`/Secrets/${called}: ${file} cannot be read: ${error.code}`);
    }
  }
  if (faults.length > 0) throw new Fault(faults.join('\n'));
  return values;
}

/** The variables as workerd gets them: texts. */
export const valuesOf = ({ Variables }) =>
  Object.fromEntries(Object.entries(Variables).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]));

function parsed(file) {
  let json;
  try {
    const text = textOf(readFileSync(file));
    if (text === undefined) throw new Fault(`${file} ${NOT_UTF8}`);
    json = JSON.parse(text);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault(error.code ? `${file} cannot be read: ${error.code}` : `${file} is no JSON: ${error.message}`);
  }
  if (!isRecord(json)) throw new Fault(`${file}: is a JSON object`);
  return json;
}

/** Every fault of a value, by the checks of its members. */
function faultsOf(value, members, at) {
  if (typeof members === 'function') {
    const fault = members(value);
    return fault ? [`${at}: ${fault}`] : [];
  }
  if (!isRecord(value)) return [`${at}: is an object`];
  const faults = Object.entries(value).flatMap(([called, each]) =>
    Object.hasOwn(members, called)
      ? faultsOf(each, members[called], `${at}/${called}`)
      : [`${at}/${called}: there is no such member${suggestion(called, Object.keys(members))}`]);
  if (members === RATE) for (const called of ['Limit', 'PeriodS']) if (!(called in value)) faults.push(`${at}/${called}: is missing`);
  if (members.Variables) faults.push(...settingFaults(value, at));
  return faults;
}

function settingFaults({ Variables = {}, Secrets = {} }, at) {
  const faults = [];
  for (const [member, values, isRight, what] of [
    ['Variables', Variables, (value) => ['string', 'number', 'boolean'].includes(typeof value) || Array.isArray(value) || isRecord(value), 'is a text, a number, a list or an object'],
    ['Secrets', Secrets, (value) => typeof value === 'string' && value !== '', 'is the path of a file with the secret'],
  ]) {
    if (!isRecord(values)) {
      faults.push(`${at}/${member}: is an object, a name a member`);
      continue;
    }
    for (const [called, value] of Object.entries(values)) {
      if (!NAME.test(called)) faults.push(`${at}/${member}/${called}: is no name of letters, digits and _`);
      else if (!isRight(value)) faults.push(`${at}/${member}/${called}: ${what}`);
    }
  }
  return faults;
}

/** Names that look like misspelt ones, and names in two places. A catalog of tomorrow may name a secret that is set today. */
function variableFaults({ Variables, Secrets, Catalog }) {
  const ofCatalog = secretsIn(catalogText(Catalog) ?? '');
  const known = [...PRODUCT.variables, ...ofCatalog];
  const faults = [];
  for (const [member, values] of [['Variables', Variables], ['Secrets', Secrets]]) {
    for (const called of Object.keys(values)) {
      // The operator's own names may resemble each other.
      const meant = known.includes(called) ? '' : suggestion(called, PRODUCT.variables);
      if (meant) faults.push(`/${member}/${called}: neither the service nor the catalog knows this name${meant}`);
    }
  }
  for (const called of Object.keys(Secrets)) if (called in Variables) faults.push(`/Secrets/${called}: is a variable, too; leave one of the two out`);
  return faults;
}

/** The catalog as it stands in its file; `undefined` where it cannot be read, which whoever takes it says. */
function catalogText(file) {
  try {
    return file && readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Members of `over` take the place of those of `under`, in objects member by member. */
const merged = (under, over) =>
  isRecord(under) && isRecord(over)
    ? Object.fromEntries([...new Set([...Object.keys(under), ...Object.keys(over)])].map((key) => [key, key in over ? merged(under[key], over[key]) : under[key]]))
    : over;

/** `; did you mean X?` with the nearest of the known names. */
export function suggestion(given, known) {
  const [nearest] = known.map((each) => [distance(given.toLowerCase(), each.toLowerCase()), each]).sort(([one], [other]) => one - other);
  return nearest && nearest[0] <= Math.min(NEAR, given.length / 2) ? `; did you mean ${nearest[1]}?` : known.length > 0 && known.length <= 20 ? `; there are ${known.join(', ')}` : '';
}

/** The least number of characters to put in, leave out or change. */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 1; at <= one.length; at++) {
    const next = [at];
    for (let to = 1; to <= other.length; to++) {
      next.push(Math.min(row[to] + 1, next[to - 1] + 1, row[to - 1] + (one[at - 1] === other[to - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[other.length];
}

const isRecord = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
