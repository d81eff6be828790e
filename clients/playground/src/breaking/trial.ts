// A trial: something that breaks, what should be true all the same, and what was found. Owns running one at a time.
import { signal } from '@preact/signals';
import { failureOf } from '../store/failure.js';

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

export const outcomes = signal<Readonly<Record<string, Outcome>>>({});
/** The trial that runs. */
export const running = signal<string | undefined>(undefined);

export async function start(trial: Trial): Promise<void> {
  if (running.value !== undefined) return;
  const began = performance.now();
  const change = (more: Partial<Outcome>) => (outcomes.value = { ...outcomes.value, [trial.id]: { ...outcomes.value[trial.id]!, ...more } });
  running.value = trial.id;
  change({ state: 'runs', doing: '', findings: {}, fault: undefined, ms: undefined });
  const report: Report = {
    does: (doing) => change({ doing }),
    finds: (claim, holds, seen) => {
      const finding: Finding = { holds, ...(seen !== undefined && { seen }) };
      change({ findings: { ...outcomes.value[trial.id]!.findings, [claim]: finding } });
    },
  };
  try {
    await trial.run(report);
  } catch (error) {
    change({ fault: failureOf(error).message });
  }
  running.value = undefined;
  const { findings, fault } = outcomes.value[trial.id]!;
  const found = Object.keys(trial.claims).map((claim) => findings[claim]?.holds ?? false);
  const state = fault !== undefined || found.includes(false) ? 'failed' : found.includes('unseen') ? 'partly' : 'held';
  change({ state, doing: '', ms: Math.round(performance.now() - began) });
}
