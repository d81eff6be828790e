// A reporter for Node's test runner in a lane: what became of the tests of each file, to run.mjs.
export default async function* verdicts(events) {
  let file = { passed: 0, failed: [], skipped: {} };
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const { name, nesting, skip, todo, details } = data;
    if (type === 'test:fail' && !todo) {
      const { cause, failureType } = details.error;
      // A suite fails with its tests.
      if (failureType !== 'subtestsFailed') file.failed.push({ name, why: String(cause?.message ?? cause ?? details.error.message) });
    } else if (skip !== undefined) {
      const why = skip === true || skip === '' ? 'without a reason' : skip;
      file.skipped[why] = (file.skipped[why] ?? 0) + 1;
    } else if (details.type !== 'suite') file.passed += 1;
    if (nesting > 0) continue;
    process.send?.({ verdicts: name, ...file });
    file = { passed: 0, failed: [], skipped: {} };
  }
  yield '';
}
