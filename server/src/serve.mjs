// One's own server (docs/own-server.md): serves from a folder until a signal ends it. Owns what changes while it serves:
// the catalog's file, the room on the disk, the end.
import { spawn } from 'node:child_process';
import { existsSync, openSync, statSync, statfsSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { whyNoListening } from '../../tools/dev/listening.mjs';
import { NOT_UTF8, bytesOf, faultsOf, read, take } from './catalog_file.mjs';
import { secretsOf, valuesOf } from './configuration.mjs';
import { DataFolder } from './data_folder.mjs';
import { Fault } from './fault.mjs';
import { bucketBinding, placed } from './jurisdictions.mjs';
import { PRODUCT } from './package_files.mjs';
import { onSignal } from './signals.mjs';
import { textOf } from './text.mjs';
import { Workerd } from './workerd.mjs';

/** The room that is kept on the disk, in bytes, unless `MinBytesFree` says otherwise: turns that run go on writing in it. */
const MIN_BYTES_FREE = 256 << 20;
/** How often each is looked at, in ms: the catalog's file, the room on the disk, what the files take. */
const [LOOK_AT_CATALOG_MS, LOOK_AT_ROOM_MS, LOOK_AT_FILES_MS] = [1000, 1000, 60_000];
/** How long a catalog waits that could not be judged or stored, in ms: to judge one takes half a second of a core. */
const HINDERED_MS = 5000;
/** How often the open requests are counted while the service ends, in ms. */
const COUNT_MS = 100;

/**
 * Serves `settings` (configuration.mjs) from the folder `data` at `address`; resolves to the exit code. `extra` are variables
 * that the configuration need not name; `isChecked`: the catalog is known to be right. `say(event)` gets `{ event, level, … }` where
 * the configuration names no file for the log; `onServing(address)` is called once.
 */
export async function serve({ settings, data, address, drainMs, extra = {}, isChecked = false, tell: say, onServing = () => {} }) {
  const { MaxBytesOfFiles, MinBytesFree = MIN_BYTES_FREE, Rates, Metering, Jurisdictions } = settings;
  const values = placed({ ...extra, ...valuesOf(settings), ...secretsOf(settings) }, Jurisdictions);
  process.umask(0o077);
  const folder = new DataFolder(data);
  await folder.hold();
  const ended = signal();
  await mustBeFree(address);
  const log = settings.Log && logFile(settings.Log);
  const tell = log ? (event) => note(log, event) : say;
  const catalog = settings.Catalog && catalogFile(settings.Catalog, folder.catalog, isChecked, tell);
  await catalog?.first();
  folder.take();
  folder.sweep();
  const workerd = await Workerd.start({
    config: folder.in('config.capnp'),
    address,
    objects: folder.objects,
    catalog: catalog ? folder.catalog : undefined,
    values,
    network: settings.Network,
    front: { MaxBytesOfFiles, Rates, Metering, Buckets: Jurisdictions?.map(bucketBinding), IsFull: roomOf(folder, MinBytesFree).IsFull },
    stdio: ['ignore', log ?? 'inherit', log ?? 'inherit'],
    onSpawn: (pid) => folder.serving(pid),
  });
  const stop = [
    watchRoom(workerd, folder, MinBytesFree, tell),
    MaxBytesOfFiles === undefined ? () => {} : watchFiles(workerd, folder),
    catalog ? every(LOOK_AT_CATALOG_MS, catalog.again) : () => {},
  ];
  const origin = `http://${address.replace(/:0$/, `:${workerd.port}`)}`;
  tell({ event: 'serving', level: 'info', address: origin, version: PRODUCT.version, data: folder.root });
  await onServing(origin);
  notify('READY=1');
  const first = await Promise.race([ended, workerd.ended]);
  const stopped = stop.map((each) => each());
  let code = 0;
  if (first === 'signal') {
    notify('STOPPING=1');
    await drain(workerd, drainMs, () => tell({ event: 'stopping', level: 'info', drain_ms: drainMs }));
    await workerd.end();
  } else {
    code = 1;
    tell({ event: 'workerd_ended', level: 'error', reason: String(first[1] ?? first[0]) });
  }
  // A catalog may be judged by a workerd of its own, which would go on.
  await Promise.all(stopped);
  folder.ended();
  folder.free();
  return code;
}

/** An address that somebody else has is told as that, before the folder becomes this release's: the runtime says it in its own words, to the log. */
async function mustBeFree(address) {
  const [, host, port] = /^(.*):(\d+)$/.exec(address);
  const error = await whyNoListening(Number(port), host === '*' ? undefined : host.replace(/^\[|\]$/g, ''));
  // Whatever else may be wrong with it, the runtime says.
  if (error?.code === 'EADDRINUSE') throw new Fault(`${address} is in use; end what listens there, or take another port: --port of dev, --listen of serve`);
}

function logFile(file) {
  try {
    return openSync(file, 'a', 0o600);
  } catch (error) {
    throw new Fault(`the log ${file} cannot be written: ${error.code}`);
  }
}

/** Writes an event to the file of the log, between the Worker's own lines. A disk that takes no more must not hinder an end in order. */
function note(log, event) {
  try {
    writeSync(log, `${JSON.stringify(event)}\n`);
  } catch {
    // It is told nowhere.
  }
}

/** Resolves to `signal` with the first one that ends the service. */
function signal() {
  return new Promise((resolve) => {
    onSignal(() => resolve('signal'));
  });
}

/** Lets no request in, and those that are open end for so long; then ends their streams. Turns that run go on by their alarms at the next start. */
async function drain(workerd, ms, onBegun) {
  try {
    let { Open } = await workerd.tell({ IsEnding: true });
    onBegun();
    for (const until = performance.now() + ms; Open > 0 && performance.now() < until; { Open } = await workerd.tell({})) await pause(COUNT_MS);
    if (Open > 0) {
      await workerd.tell({ IsCut: true });
      // The front looks several times a second.
      for (let times = 0; Open > 0 && times < 10; times++, { Open } = await workerd.tell({})) await pause(COUNT_MS);
    }
  } catch {
    // workerd has ended by itself meanwhile, or hangs.
  }
}

/**
 * The catalog's file: `first()` takes it for the start, and `again()` whenever it has changed. One that is wrong is refused, and
 * the last that was right goes on; a start without any such one is refused.
 */
function catalogFile(file, folder, isChecked, tell) {
  let seen;
  let hindrance;
  // When the same file is looked at again: by a clock that nobody sets back.
  let again = Infinity;
  const look = async () => {
    seen = momentOf(file);
    const catalog = textOf(bytesOf(file));
    // As wrong as one with any other fault: what was right before serves a start, too.
    const faults = catalog === undefined ? [NOT_UTF8] : isChecked ? [] : await faultsOf(catalog);
    if (faults.length > 0) tell({ event: 'catalog_refused', level: 'error', file, faults });
    else take(catalog, folder);
    return faults;
  };
  return {
    async first() {
      const faults = await look();
      if (faults.length === 0) return;
      const last = path.join(folder, 'catalog');
      // What another release has taken need not be right for this one.
      const isRight = existsSync(last) && (await faultsOf(read(last))).length === 0;
      if (!isRight) throw new Fault(`the catalog ${file} is wrong, and there is no earlier one that is right:\n${faults.join('\n')}`);
    },
    async again() {
      if (momentOf(file) === seen && performance.now() < again) return;
      again = Infinity;
      try {
        if ((await look()).length === 0) tell({ event: 'catalog_taken', level: 'info', file });
        hindrance = undefined;
      } catch ({ message, code }) {
        // Ended by a signal, as the server is.
        if (code > 1) return;
        // It was not judged, or not stored, and may be right: it is looked at again, and the hindrance is told once.
        again = performance.now() + HINDERED_MS;
        if (message !== hindrance) tell({ event: 'catalog_refused', level: 'error', file, faults: [message] });
        hindrance = message;
      }
    },
  };
}

/** What changes with each write of a file. */
function momentOf(file) {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat ? `${stat.ino} ${stat.mtimeNs} ${stat.size}` : '';
}

/** Whether the disk has too little room, as the front is told, and how many bytes are free. */
function roomOf(folder, least) {
  const { bavail, bsize } = statfsSync(folder.root);
  return { IsFull: bavail * bsize < least, free: bavail * bsize };
}

/** Has the front refuse what writes while the disk has too little room. */
function watchRoom(workerd, folder, least, tell) {
  let wasFull;
  return every(LOOK_AT_ROOM_MS, async () => {
    const { IsFull, free } = roomOf(folder, least);
    if (IsFull === wasFull) return;
    await workerd.tell({ IsFull });
    const isNews = IsFull || wasFull;
    wasFull = IsFull;
    if (isNews) tell({ event: IsFull ? 'disk_full' : 'disk_has_room', level: IsFull ? 'error' : 'info', bytes_free: free, needed: least });
  });
}

const watchFiles = (workerd, folder) => every(LOOK_AT_FILES_MS, () => workerd.tell({ FilesBytes: folder.filesBytes }));

/** Does something now and again and again; returns what ends that and waits for what is under way. What fails is done the next time. */
function every(ms, act) {
  let timer;
  let isOver = false;
  let underWay;
  const once = () => {
    underWay = Promise.resolve().then(act).catch(() => {}).then(() => {
      if (!isOver) timer = setTimeout(once, ms);
    });
  };
  once();
  return () => {
    isOver = true;
    clearTimeout(timer);
    return underWay;
  };
}

/** Tells systemd, where it has asked to be told (`Type=notify` with `NotifyAccess=all`). */
function notify(what) {
  if (process.env.NOTIFY_SOCKET) spawn('systemd-notify', [`--pid=${process.pid}`, what], { stdio: 'ignore' }).on('error', () => {});
}
