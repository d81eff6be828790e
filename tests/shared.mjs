// What the test files of one process share, such as a Worker or a Chromium: started for the first file that takes it. A
// lane (tools/test_run) keeps it for the next file; in a process of one file it ends with the last one who holds it.
const shared = new Map();
let isKept = false;

/** Resolves to what `start` resolves to, which is called unless it is there under this key. It is given back by `release`. */
export async function take(key, start, stop) {
  let entry = shared.get(key);
  if (entry === undefined) shared.set(key, (entry = { holders: 0, starting: start(), stop }));
  entry.holders += 1;
  try {
    return await entry.starting;
  } catch (failure) {
    shared.delete(key);
    throw failure;
  }
}

/** The file needs it no more. */
export async function release(key) {
  const entry = shared.get(key);
  if (entry === undefined) return;
  entry.holders -= 1;
  if (entry.holders === 0 && !isKept) await end(key, entry);
}

/** From now on what is shared stays until `endShared`. */
export function keepShared() {
  isKept = true;
}

export async function endShared() {
  for (const [key, entry] of shared) await end(key, entry);
}

async function end(key, { starting, stop }) {
  shared.delete(key);
  await stop(await starting);
}
