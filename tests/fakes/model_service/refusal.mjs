// The refusal of a request by the model service.
// Owns the envelope; request_rules.mjs and chain.mjs decide which requests are refused.

/** Thrown to refuse a request. `status` is the HTTP status, `body` the whole JSON body of the response. */
export class Refusal extends Error {
  constructor(message, { status = 400, type = 'invalid_request_error', param = null, code = null } = {}) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.body = { error: { message, type, param, code } };
  }
}

export const missing = (path) =>
  new Refusal(`Missing required parameter: '${path}'.`, { param: path, code: 'missing_required_parameter' });

export const unknown = (path) =>
  new Refusal(`Unknown parameter: '${path}'.`, { param: path, code: 'unknown_parameter' });

export const wrongType = (path, expected, value) =>
  new Refusal(`Invalid type for '${path}': expected ${expected}, but got ${kindOf(value)} instead.`, {
    param: path,
    code: 'invalid_type',
  });

export const wrongValue = (path, value, supported) =>
  new Refusal(`Invalid value: '${value}'. Supported values are: ${listed(supported)}.`, {
    param: path,
    code: 'invalid_value',
  });

function kindOf(value) {
  if (Array.isArray(value)) return 'an array';
  if (value === null || typeof value === 'object') return 'an object';
  if (Number.isInteger(value)) return 'an integer';
  return typeof value === 'number' ? 'a decimal' : `a ${typeof value}`;
}

function listed(values) {
  const quoted = values.map((value) => `'${value}'`);
  return quoted.length < 3
    ? quoted.join(' and ')
    : `${quoted.slice(0, -1).join(', ')}, and ${quoted[quoted.length - 1]}`;
}
