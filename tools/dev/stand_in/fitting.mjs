// A value that fits a JSON Schema and says what was said: texts are the instruction, numbers the first one in it.
// Owns the words of a schema that it follows; it invents nothing.

/** The deepest value; what a schema repeats in itself ends there. */
const DEEPEST = 20;

export function fitting(schema, instruction) {
  return made(schema, { schema, instruction, number: Number(/\d+(?:\.\d+)?/.exec(instruction)?.[0] ?? 0) }, 0);
}

function made(schema, whole, depth) {
  if (depth > DEEPEST || typeof schema !== 'object' || schema === null) return null;
  if ('const' in schema) return schema.const;
  if (schema.enum) return schema.enum.find((each) => whole.instruction.includes(String(each))) ?? schema.enum[0];
  if (schema.$ref) return made(referred(schema.$ref, whole.schema), whole, depth + 1);
  const [alternative] = schema.anyOf ?? schema.oneOf ?? [];
  if (alternative !== undefined) return made(alternative, whole, depth + 1);
  switch ([schema.type].flat()[0]) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, of]) => [name, made(of, whole, depth + 1)]));
    case 'array':
      return [made(schema.items, whole, depth + 1)];
    case 'integer':
      return Math.round(whole.number);
    case 'number':
      return whole.number;
    case 'boolean':
      return true;
    case 'string':
      return whole.instruction;
    default:
      return null;
  }
}

/** `#/$defs/item`. */
function referred(reference, schema) {
  const names = reference.split('/').slice(1).map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.reduce((at, name) => at?.[name], schema);
}
