// The tools that this page can run by itself. Any other call waits for the user.
import { signal } from '@preact/signals';

export interface Declared {
  name: string;
  description?: string;
  parameters?: object;
}
interface Ready extends Declared {
  /** What the panel says of it. */
  shown: string;
  /** What the user is told of a call that is left to them. */
  left?: string;
  /** The result, as JSON; `undefined` leaves the call to the user. */
  run(args: Record<string, unknown>, argumentsJson: string): string | undefined;
}

/** The texts of files that were dropped on this page, by name. */
export const droppedFiles = signal<ReadonlyMap<string, string>>(new Map());

const text = (name: string, description: string) => ({
  type: 'object',
  properties: { [name]: { type: 'string', description } },
  required: [name],
  additionalProperties: false,
});

export const READY: readonly Ready[] = [
  {
    name: 'clock',
    shown: 'the time of this browser',
    description: "Tells the date, the time and the time zone of the user's browser.",
    parameters: { type: 'object', properties: {}, additionalProperties: false },
    run: () => JSON.stringify({ now: new Date().toISOString(), timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone }),
  },
  {
    name: 'read_file',
    shown: 'a file that you dropped; asks you for one that you did not',
    description: 'Reads a text file that the user has at hand, by its path.',
    parameters: text('path', "The file's path or name."),
    left: 'No file of this name was dropped on this page. Drop it now, choose it below, or answer for the tool.',
    run: ({ path }) => {
      const name = String(path).split('/').at(-1)!.toLowerCase();
      const found = [...droppedFiles.value].find(([held]) => held.toLowerCase() === name);
      return found && JSON.stringify({ path: found[0], text: found[1] });
    },
  },
  {
    name: 'echo',
    shown: 'repeats what it is given',
    description: 'Repeats a text.',
    parameters: text('text', 'What is to be repeated.'),
    run: (_, argumentsJson) => argumentsJson,
  },
];
