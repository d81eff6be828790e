// The schema that the model service has published for requests, where it is at hand beside the project; the rules of
// ../fakes/model_service hold everywhere.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { registerSchema, validate } from '@hyperjump/json-schema/draft-2020-12';
import { BASIC } from '@hyperjump/json-schema/experimental';

const FILE = new URL('../../../shared/openai/create-response.schema.json', import.meta.url);
const NAME = 'https://published.test/request';
let validator;

/** Fails when the schema refuses the body of a request. */
export async function checkPublished(body) {
  validator ??= load();
  const verdict = (await validator)?.(body, BASIC);
  if (verdict === undefined || verdict.valid) return;
  const faults = verdict.errors.map(({ instanceLocation, absoluteKeywordLocation }) => `${instanceLocation} breaks ${absoluteKeywordLocation}`);
  assert.fail(`the published schema refuses a request: ${faults.slice(0, 20).join('; ')}\n${JSON.stringify(body).slice(0, 2000)}`);
}

async function load() {
  const text = await readFile(FILE, 'utf8').catch(() => null);
  if (text === null) return undefined;
  // A keyword of an older draft, which the current one refuses.
  registerSchema(JSON.parse(text, (key, value) => (key === '$recursiveAnchor' ? undefined : value)), NAME);
  return validate(NAME);
}
