// Whether an output is what a page says: `…` stands for any text, in JSON for any value. Owns the comparison alone.
import assert from 'node:assert/strict';

/** Fails with the first difference between what the page states and what came. */
export function checkOutput(language, stated, actual) {
  if (language !== 'json') return checkText(stated, actual);
  const came = jsonIn(actual);
  assert.ok(came !== undefined, `the output holds no JSON: ${actual}`);
  checkValue(JSON.parse(stated), came, '');
}

/** Each line of the page stands in the output, in this order; a line that is `…` alone stands for any lines. */
function checkText(stated, actual) {
  const pattern = stated.split('…').map((part) => part.trim().split(/\s+/).map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('\\s+'));
  assert.match(actual, new RegExp(pattern.join('[^]*?')), `the page states:\n${stated}\nand this came:\n${actual}`);
}

/** The JSON of the output: all of it, or its last line that is JSON. */
function jsonIn(output) {
  const lines = output.trim().split('\n');
  for (const text of [output, ...lines.toReversed()]) {
    try {
      return JSON.parse(text);
    } catch {
      // Another command may have written something else before.
    }
  }
  return undefined;
}

function checkValue(stated, came, place) {
  const at = `${place || 'the output'}: the page states ${JSON.stringify(stated)}, and this came: ${JSON.stringify(came)}`;
  if (typeof stated === 'string' && stated.includes('…')) {
    if (stated === '…') return;
    const pattern = stated.split('…').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    assert.ok(typeof came === 'string' && new RegExp(`^${pattern.join('[^]*')}$`).test(came), at);
  } else if (Array.isArray(stated)) {
    const isOpen = stated.at(-1) === '…';
    const shown = isOpen ? stated.slice(0, -1) : stated;
    assert.ok(Array.isArray(came) && (isOpen ? came.length >= shown.length : came.length === shown.length), at);
    shown.forEach((item, index) => checkValue(item, came[index], `${place}/${index}`));
  } else if (typeof stated === 'object' && stated !== null) {
    const { '…': isOpen, ...members } = stated;
    assert.ok(typeof came === 'object' && came !== null && !Array.isArray(came), at);
    const names = Object.keys(members);
    const known = Object.keys(came).filter((name) => isOpen === undefined || names.includes(name));
    assert.deepEqual(known.toSorted(), names.toSorted(), at);
    for (const name of names) checkValue(members[name], came[name], `${place}/${name}`);
  } else {
    assert.deepEqual(came, stated, at);
  }
}
