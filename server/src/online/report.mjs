// The form of the report: rows below their heads, the services' own words without a secret.

/** The longest message of a service that is shown, in characters. */
const MESSAGE = 200;

/** `{ rows, notes, advice }`: one row for each thing that was asked, what is worth knowing, and what has to be otherwise. */
export const noFindings = () => ({ rows: [], notes: [], advice: [] });

/** Rows whose columns stand below each other, under these heads; nothing without rows. */
export function table(heads, rows) {
  if (rows.length === 0) return [];
  const all = [heads, ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => [...row[column]].length)));
  return all.map((row) => row.map((cell, column) => cell + ' '.repeat(widths[column] - [...cell].length)).join('  ').trimEnd());
}

/** A function that makes one line of a service's message, without the values of `secrets`. */
export function shownWithout(secrets) {
  // The longer of two that begin alike comes first.
  const hidden = Object.values(secrets).filter((value) => value.length > 0).sort((one, other) => other.length - one.length);
  return (message) => [...hidden.reduce((text, value) => text.replaceAll(value, '***'), message).split(/\s+/).join(' ').trim()].slice(0, MESSAGE).join('');
}

/** A report for a terminal, in which names and words of services move no cursor and turn no text. */
export const seen = (report) => report.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (each) => (each === '\n' ? each : '\ufffd'));
