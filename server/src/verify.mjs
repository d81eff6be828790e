// `verify`: opens every object of a folder, also while it is served. Says how many there are and in which form, and finds what
// is not whole.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { ALARMS, CLASSES } from './backup.mjs';
import { DataFolder } from './data_folder.mjs';
import { Fault } from './fault.mjs';
import { FILE_STORE, PRODUCT, folderOf } from './package_files.mjs';
import { Database } from './sqlite.mjs';

const PATIENCE_MS = 10_000;

/** `{ lines, faults }`: what there is, and what is wrong with it. */
export function verify(data) {
  const folder = new DataFolder(data);
  if (!folder.written) throw new Fault(`${folder.root} is no folder of a server`);
  const faults = [];
  const lines = [`release ${folder.written.Release}`];
  for (const className of CLASSES()) {
    const schema = Object.values(PRODUCT.forms).find((form) => form.class === className);
    const [forms, files] = [new Map(), folder.objectsOf(className)];
    let turns = 0;
    for (const file of files) {
      try {
        const { form, count, fault } = look(file, schema, className);
        if (fault) faults.push(`${file}: ${fault}`);
        if (form !== undefined) forms.set(form, (forms.get(form) ?? 0) + 1);
        turns += count;
      } catch (error) {
        faults.push(`${file}: ${error.message}`);
      }
    }
    if (files.length === 0) continue;
    const inForms = [...forms].sort().map(([form, count]) => `form ${form}: ${count}`);
    lines.push(`${className}: ${[files.length, ...inForms, ...(className === 'SessionObject' ? [`turns: ${turns}`] : [])].join(', ')}`);
    faults.push(...alarmFaults(path.join(folder.objects, folderOf(className))));
  }
  return { lines, faults };
}

/** `{ form, count, fault }` of one object's database; `form` where it has tables of a form, `count` of its turns. */
function look(file, schema, className) {
  const database = new Database(file, { timeout: PATIENCE_MS });
  try {
    const [{ quick_check: whole }] = database.prepare('PRAGMA quick_check(1)').all();
    if (whole !== 'ok') return { count: 0, fault: whole };
    const has = (table) => database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table) !== undefined;
    if (className === FILE_STORE) return { count: 0, fault: filesFault(database, has) };
    if (!schema || !has(schema.table)) return { count: 0 };
    const form = database.prepare(`SELECT schema_version AS form FROM ${schema.table}`).get()?.form;
    const count = has('turns') ? database.prepare('SELECT count(*) AS count FROM turns').get().count : 0;
    return { form, count, ...(form > schema.number && { fault: `has the form ${form}, of a newer release; this one has ${schema.number}` }) };
  } finally {
    database.close();
  }
}

/** A file of which bytes are missing. */
function filesFault(database, has) {
  if (!has('file')) return undefined;
  const wrong = database.prepare('SELECT key FROM file WHERE size <> (SELECT coalesce(sum(length(bytes)), 0) FROM part WHERE part.key = file.key) LIMIT 1').get();
  return wrong && `the file ${wrong.key} is not whole`;
}

/** Alarms of objects that are not there. What has begun since the others were opened is there. */
function alarmFaults(objects) {
  const file = path.join(objects, ALARMS);
  if (!existsSync(file)) return [];
  let database;
  try {
    database = new Database(file, { timeout: PATIENCE_MS });
    const set = database.prepare('SELECT actor_id FROM _cf_ALARM').all();
    return set.filter(({ actor_id: id }) => !existsSync(path.join(objects, `${id}.sqlite`))).map(({ actor_id: id }) => `${file}: has an alarm of ${id}, which is not there`);
  } catch (error) {
    return [`${file}: ${error.message}`];
  } finally {
    database?.close();
  }
}
