// The signals that end a command, each in its own way.
export const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'];

/** Calls `end` with the name and the number of each of them that comes; returns what no longer does. */
export function onSignal(end) {
  for (const name of SIGNALS) process.on(name, end);
  return () => {
    for (const name of SIGNALS) process.off(name, end);
  };
}

/** The exit code of a process that the signal with this number has ended. */
export const endedBy = (number) => 128 + number;
