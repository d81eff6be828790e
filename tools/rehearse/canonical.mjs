// The form in which arguments are compared: RFC 8785, so that white space and the order of members make no difference.

/** JSON text in that form; text that is no JSON as it is. Some model services write no text for a call without arguments. */
export function canonical(text) {
  try {
    return written(JSON.parse(text.trim() || '{}'));
  } catch {
    return text;
  }
}

/** Members stand in the order of their names by UTF-16 units; JavaScript writes numbers and texts as the form wants them. */
function written(value) {
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${written(value[name])}`).join(',')}}`;
}
