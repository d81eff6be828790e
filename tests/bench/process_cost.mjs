// The cost of a process: CPU time and resident memory, as the kernel counts them.
// Owns reading /proc. Without /proc (macOS) every figure is `null`: not measured, never guessed.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';

/** Whether this system reports the cost of a process. */
export const MEASURABLE = existsSync('/proc/self/stat');

const TICKS_PER_SECOND = MEASURABLE ? Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) : NaN;
const PAGE_BYTES = MEASURABLE ? Number(execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' })) : NaN;

/**
 * CPU time of `pid` so far, user and system, in ms. Taken from the scheduler's exact count for each thread where the
 * kernel keeps one, else from the 10 ms ticks of /proc/<pid>/stat.
 */
export function cpuMs(pid) {
  if (!MEASURABLE) return null;
  try {
    const tasks = `/proc/${pid}/task`;
    let nanoseconds = 0;
    for (const thread of readdirSync(tasks)) {
      nanoseconds += Number(readFileSync(`${tasks}/${thread}/schedstat`, 'utf8').split(' ')[0]);
    }
    if (nanoseconds > 0) return nanoseconds / 1e6;
  } catch {
    // This kernel keeps no such count, or a thread has ended meanwhile.
  }
  const { userTicks, systemTicks } = stat(pid);
  return ((userTicks + systemTicks) * 1000) / TICKS_PER_SECOND;
}

/** The time for which the main thread of `pid` has been ready to run and had to wait for a core, in ms; 0 where it is not known. */
export function waitedMs(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** The most resident memory of `pid` since it was last forgotten, in bytes. */
export function mostResidentBytes(pid) {
  if (!MEASURABLE) return null;
  return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
}

/** Begins anew with what `mostResidentBytes` tells. */
export function forgetMostResident(pid) {
  if (MEASURABLE) writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Resident memory of `pid` in bytes. */
export function residentBytes(pid) {
  if (!MEASURABLE) return null;
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
}

/** The number of files that `pid` has open, sockets included. */
export function openFiles(pid) {
  return MEASURABLE ? readdirSync(`/proc/${pid}/fd`).length : null;
}

/** The fields follow the last bracket, since the name stands in brackets and can itself contain brackets. */
function stat(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  return {
    userTicks: Number(fields[11]),
    systemTicks: Number(fields[12]),
  };
}
