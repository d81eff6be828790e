// A trial: something that breaks, what should be true all the same, and what was found. Owns running one at a time, and that
// what was found stays for the tab, with the session in which it was.
import { computed, effect, signal } from '@preact/signals';
import { sessionId } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import { ofTab } from '../store/storage.js';
import { user } from '../store/user.js';
import { forgetOwn, goWhereItIsDone } from './own_session.js';

/** What a trial tells while it runs. */
export interface Report {
  /** What is being done now. */
  does(words: string): void;
  /** A claim was looked at; `seen` is what was found. `unseen`: what was done could not show whether it holds. */
  finds(claim: string, holds: boolean | 'unseen', seen?: string): void;
}

export interface Trial {
  id: string;
  title: string;
  /** What its button does. */
  does: string;
  /** What should be true then, each under the name by which `run` reports it. */
  claims: Readonly<Record<string, string>>;
  /** It begins a turn, so no other one may be live. */
  needsIdle?: boolean;
  run(report: Report): Promise<void>;
}

export interface Finding {
  holds: boolean | 'unseen';
  seen?: string;
}
export interface Outcome {
  /** `partly`: what was seen held, and a claim could not be shown. */
  state: 'runs' | 'held' | 'partly' | 'failed';
  doing: string;
  findings: Readonly<Record<string, Finding>>;
  /** Why it could not be carried through. */
  fault?: string;
  ms?: number;
}

type Outcomes = Readonly<Record<string, Outcome>>;

const PLACE = 'aptix-edge.trials';
/** The sessions whose outcomes are kept, the newest ones. */
const MOST_KEPT = 20;

/** Each with its session, the newest first. */
const all = signal<readonly (readonly [session: string, outcomes: Outcomes])[]>(stored());
/** Those of the open session. */
export const outcomes = computed<Outcomes>(() => all.value.find(([session]) => session === sessionId.value)?.[1] ?? {});
/** The trial that runs. */
export const running = signal<string | undefined>(undefined);

/** What was seen may be words of an answer, which no storage is to hold. */
const withoutWords = ({ findings, ...rest }: Outcome): Outcome => ({
  ...rest,
  findings: Object.fromEntries(Object.entries(findings).map(([claim, { holds }]) => [claim, { holds }])),
});

effect(() => {
  if (all.value.length === 0) return ofTab.remove(PLACE);
  // One that runs ends with the page.
  const ended = (found: Outcomes) => Object.entries(found).filter(([, { state }]) => state !== 'runs').map(([id, each]) => [id, withoutWords(each)]);
  ofTab.set(PLACE, JSON.stringify(all.value.map(([session, found]) => [session, Object.fromEntries(ended(found))])));
});
let foundAs = user.peek();
effect(() => {
  if (user.value !== foundAs) {
    all.value = [];
    forgetOwn();
  }
  foundAs = user.value;
});

function stored(): (readonly [string, Outcomes])[] {
  return ofTab.list<readonly [string, Outcomes]>(PLACE, (each) => Array.isArray(each) && typeof each[0] === 'string' && typeof each[1] === 'object' && each[1] !== null);
}

export async function start(trial: Trial): Promise<void> {
  if (running.value !== undefined) return;
  await asRunning(trial, async () => {
    await goWhereItIsDone(trial);
    await find(trial);
  });
}

/** Runs it in the open session. */
export const carryOut = (trial: Trial): Promise<void> => asRunning(trial, () => find(trial));

async function asRunning(trial: Trial, work: () => Promise<void>): Promise<void> {
  running.value = trial.id;
  try {
    await work();
  } finally {
    running.value = undefined;
  }
}

/** Finds out what of its claims is true. */
async function find(trial: Trial): Promise<void> {
  const began = performance.now();
  const session = sessionId.peek();
  const known = (): Outcomes => all.peek().find(([id]) => id === session)?.[1] ?? {};
  const change = (more: Partial<Outcome>) => {
    const next = { ...known(), [trial.id]: { ...known()[trial.id]!, ...more } };
    all.value = [[session, next] as const, ...all.peek().filter(([id]) => id !== session)].slice(0, MOST_KEPT);
  };
  change({ state: 'runs', doing: '', findings: {}, fault: undefined, ms: undefined });
  const report: Report = {
    does: (doing) => change({ doing }),
    finds: (claim, holds, seen) => {
      const finding: Finding = { holds, ...(seen !== undefined && { seen }) };
      change({ findings: { ...known()[trial.id]!.findings, [claim]: finding } });
    },
  };
  try {
    await trial.run(report);
  } catch (error) {
    change({ fault: failureOf(error).message });
  }
  const { findings, fault } = known()[trial.id]!;
  const found = Object.keys(trial.claims).map((claim) => findings[claim]?.holds ?? false);
  const state = fault !== undefined || found.includes(false) ? 'failed' : found.includes('unseen') ? 'partly' : 'held';
  change({ state, doing: '', ms: Math.round(performance.now() - began) });
}
