// Which secrets a catalog names: that of a model service's key, those that sign webhooks, and those within headers. In a prompt
// the same signs are words.

/** The names, each once; of a text that is no JSON none, which the service itself complains of. */
export function secretsIn(catalog) {
  const names = new Set();
  const look = (value, member, isHeader) => {
    if (typeof value === 'string') {
      if (member === 'ApiKeySecret' || member === 'SigningSecrets') names.add(value);
      // `USER` stands there for the user whose session calls.
      if (isHeader) for (const [, name] of value.matchAll(/\$\{(?!USER\})([A-Za-z_][A-Za-z0-9_]*)\}/g)) names.add(name);
    } else if (Array.isArray(value)) for (const each of value) look(each, member);
    else if (value !== null && typeof value === 'object') for (const [name, each] of Object.entries(value)) look(each, name, member === 'Headers');
  };
  try {
    look(JSON.parse(catalog.replace(/^\ufeff/, '')));
  } catch {
    return [];
  }
  return [...names].filter((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
}
