// The processor time of a process with all that it has started. Owns reading it from the system.
import { readFileSync, readdirSync } from 'node:fs';

/** The unit of times in `/proc`: each Linux has a hundred of them in a second. */
const TICKS = 100;

/** `{ parent, seconds }` of a process; its time includes that of its children that have ended. */
function read(id) {
  const [, parent, ...members] = readFileSync(`/proc/${id}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
  return { parent: Number(parent), seconds: members.slice(9, 13).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS };
}

function all() {
  const found = new Map();
  for (const id of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      found.set(Number(id), read(id));
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}

/** The ids of the processes that this one has started, and those of theirs. Without `/proc`, none is known. */
export function descendants(processes = all()) {
  const found = new Set([process.pid]);
  for (let size = 0; size < found.size; ) {
    size = found.size;
    for (const [id, { parent }] of processes) if (found.has(parent)) found.add(id);
  }
  found.delete(process.pid);
  return found;
}

/** What this process and its descendants have used so far, in seconds. Without `/proc` (macOS), this process alone. */
export function processorTime() {
  let processes;
  try {
    processes = all();
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
  return [process.pid, ...descendants(processes)].reduce((sum, id) => sum + (processes.get(id)?.seconds ?? 0), 0);
}
