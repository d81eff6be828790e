// `rehearse`: recorded sessions run again under another catalog or context, with the real model service and no tool of the real
// world (docs/rehearsal.md). Owns what the command was given, how the Worker is served for it, and the exit code.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import builtIn from '../../src/catalog/builtin.json' with { type: 'json' };
import { secretsIn } from '../../tools/dev/catalog_secrets.mjs';
import { standIn } from '../../tools/dev/stand_in/service.mjs';
import { Judge } from '../../tools/rehearse/judge.mjs';
import { Outbound } from '../../tools/rehearse/outbound.mjs';
import { filesIn, readSession } from '../../tools/rehearse/record.mjs';
import { rehearsal } from '../../tools/rehearse/rehearsal.mjs';
import { rehearsedCatalog } from '../../tools/rehearse/rehearsed_catalog.mjs';
import { junitReport, sessionText, totalsText } from '../../tools/rehearse/report.mjs';
import { faultsOf, read, served } from './catalog_file.mjs';
import { secretsOf, valuesOf } from './configuration.mjs';
import { Fault, toldOf } from './fault.mjs';

/** Exit codes. */
const [BROKEN_BOUND, MISUSED, FAILED] = [1, 2, 3];
/** Variables of the deployment that decide whether and how a turn runs. */
const VARIABLES = ['OPENAI_MODEL', 'MAX_BODY_BYTES', 'MAX_ITERATIONS', 'MAX_TURNS', 'MAX_CONTINUATIONS', 'MAX_STEERS', 'UPSTREAM_IDLE_TIMEOUT_MS', 'TURN_TIMEOUT_MS', 'FALLBACK_REST_MS'];
const OPENAI = 'https://api.openai.com/v1';

/**
 * Rehearses the exports at `paths`; resolves to the exit code. `configured()` reads the settings (configuration.mjs), `environment`
 * has what stands beside their variables and secrets, `baseline` is `1` or a catalog's file.
 */
export async function rehearse({ paths, configured, environment, catalog: named, context, baseline, judge: command, times, maxDrift, minScore, junit, json, print }) {
  try {
    const settings = configured();
    const catalog = named ?? settings.Catalog;
    const values = { ...environment, ...valuesOf(settings), ...secretsOf(settings) };
    if (catalog === undefined && context === undefined) throw new Fault('CATALOG (--catalog) or CONTEXT (--context) has to say what is tried');
    if (minScore !== undefined && !command) throw new Fault('MIN_SCORE (--min-score) needs a JUDGE (--judge)');
    const sessions = recorded(paths);
    const tried = catalog === undefined ? JSON.stringify(builtIn) : read(catalog);
    const lanes = [{ name: 'rehearsed', catalog: tried, contextOf: (session) => context ?? session.context }];
    if (baseline) lanes.push({ name: 'baseline', catalog: baseline === '1' ? tried : read(baseline), contextOf: (session) => session.context });
    await checkCatalogs(lanes);
    for (const lane of lanes) checkContexts(lane, sessions);
    const { given, close } = await modelService(values, lanes, print);
    const judge = command && new Judge(command);
    try {
      const serve = (asked) => serveFor(asked, given);
      const report = await rehearsal({ sessions, lanes, times, judge: judge && judging(judge), serve, onSession: (session) => print(sessionText(session)) });
      const { code, sentences } = outcomeOf(report.Totals, maxDrift, minScore);
      // What cannot be written is nevertheless told.
      print(totalsText(report, sentences));
      if (json) writeFileSync(json, `${JSON.stringify(report)}\n`);
      if (junit) writeFileSync(junit, junitReport(report));
      return code;
    } finally {
      judge?.end();
      await close();
    }
  } catch (fault) {
    // Ended by a signal.
    if (fault instanceof Fault && fault.code > FAILED) throw fault;
    // What cannot be rehearsed is wrong use: the other codes are about what was.
    throw new Fault(toldOf(fault), MISUSED);
  }
}

/** The judge, of which what is wrong with its lines is a fault of the command that was given. */
const judging = (judge) => ({
  judged: (...turn) =>
    judge.judged(...turn).catch((error) => {
      throw new Fault(error.message);
    }),
});

function recorded(paths) {
  let files;
  try {
    files = filesIn(paths);
  } catch ({ path: file, code }) {
    throw new Fault(`${file} cannot be read: ${code}`);
  }
  if (files.length === 0) throw new Fault('EXPORTS names no export of a session');
  const sessions = files.map((file) => {
    try {
      return readSession(file);
    } catch (error) {
      throw new Fault(`${file} cannot be rehearsed: ${error.message}`);
    }
  });
  const names = new Map();
  for (const { id, user = '', file } of sessions) {
    const name = JSON.stringify([user, id]);
    if (names.has(name)) throw new Fault(`${file} has the session of ${names.get(name)}; rehearse one of both`);
    names.set(name, file);
  }
  const ended = sessions.filter(({ turns }) => turns.length > 0);
  if (ended.length === 0) throw new Fault('EXPORTS has no turn that has ended');
  return ended;
}

async function checkCatalogs(lanes) {
  for (const text of new Set(lanes.map(({ catalog }) => catalog))) {
    const faults = await faultsOf(text);
    if (faults.length > 0) throw new Fault(`the catalog${text === lanes[0].catalog ? '' : ' of the baseline'} is wrong:\n${faults.join('\n')}`);
  }
}

function checkContexts({ catalog, contextOf }, sessions) {
  const known = Object.keys(JSON.parse(catalog).ConversationContexts);
  for (const session of sessions) {
    const context = contextOf(session);
    if (!known.includes(context)) {
      throw new Fault(`the catalog has no conversation context ${context}, under which ${session.file} was recorded or is to be tried; CONTEXT (--context) names another, of ${known.join(', ')}`);
    }
  }
}

/** The values of the model services; without a key and an address, a stand-in answers where the catalog names no address. */
async function modelService(values, lanes, print) {
  const given = { ...values };
  let close = () => {};
  const services = lanes.flatMap(({ catalog }) => Object.values(JSON.parse(catalog).AgentContexts));
  const named = services.filter(({ BaseUrl }) => BaseUrl !== undefined);
  if (!given.OPENAI_API_KEY && !given.OPENAI_BASE_URL && named.length < services.length) {
    // The stand-in's key is for no other service.
    const asked = secretsIn(JSON.stringify(named.map(({ ApiKeySecret, Headers }) => ({ ApiKeySecret, Headers }))));
    if (asked.includes('OPENAI_API_KEY')) throw unset(['OPENAI_API_KEY']);
    const service = await standIn({ atOnce: true });
    close = service.close;
    Object.assign(given, { OPENAI_BASE_URL: service.url, OPENAI_API_KEY: 'stand-in' });
    print('no OPENAI_API_KEY, so a stand-in answers for the model service');
  }
  return { given, close };
}

const unset = (names) => new Fault(`these secrets of the model services are not set: ${names.join(', ')}`);

async function serveFor({ catalog: text, use }, given) {
  const { OPENAI_BASE_URL = OPENAI } = given;
  const { catalog, origins, secrets, notes } = rehearsedCatalog(text, OPENAI_BASE_URL);
  const missing = secrets.filter((name) => !given[name]);
  if (missing.length > 0) throw unset(missing);
  const picked = Object.fromEntries([...secrets, ...VARIABLES].flatMap((name) => (given[name] ? [[name, given[name]]] : [])));
  const values = { ...picked, OPENAI_BASE_URL, FILE_LINK_KEY: randomBytes(32).toString('hex') };
  const outbound = await Outbound.start(origins);
  try {
    await served({ catalog, values, outbound: outbound.address }, (_, origin) => use({ origin, outbound, notes }));
  } finally {
    outbound.close();
  }
}

function outcomeOf({ Drift, Score, Failed }, maxDrift, minScore) {
  const sentences = [];
  if (maxDrift !== undefined && Drift > maxDrift) sentences.push(`MAX_DRIFT is ${maxDrift}: more turns drift`);
  if (minScore !== undefined && !(Score >= minScore)) sentences.push(`MIN_SCORE is ${minScore}: the score is lower`);
  return { code: Failed > 0 ? FAILED : sentences.length > 0 ? BROKEN_BOUND : 0, sentences };
}
