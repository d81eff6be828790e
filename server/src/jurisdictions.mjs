// The jurisdictions of the variable TENANTS. Owns which of them one's own server may serve, and the names of their buckets.
import { Fault } from './fault.mjs';

export const JURISDICTIONS = ['eu', 'us', 'fedramp', 'fedramp-high'];

/** The binding of the bucket for files of a jurisdiction. */
export const bucketBinding = (jurisdiction) => `FILES_${jurisdiction.toUpperCase().replaceAll('-', '_')}`;

/** The jurisdictions that a value of TENANTS names, in the order of `JURISDICTIONS`. Of a malformed one the service tells the fault. */
export function jurisdictionsIn(tenants) {
  const named = termsOf(tenants).map((terms) => terms?.Jurisdiction);
  return JURISDICTIONS.filter((jurisdiction) => named.includes(jurisdiction));
}

function termsOf(tenants) {
  try {
    return Object.values((typeof tenants === 'string' ? JSON.parse(tenants) : tenants) ?? {});
  } catch {
    return [];
  }
}

/**
 * The variables of a server that stands in the jurisdictions `own`: the runtime here has none, so names of objects stand for
 * them. Throws where a tenant's data may not be on this machine.
 */
export function placed(values, own = []) {
  const named = jurisdictionsIn(values.TENANTS);
  const elsewhere = named.filter((jurisdiction) => !own.includes(jurisdiction));
  if (elsewhere.length > 0) {
    throw new Fault(`TENANTS names the jurisdiction ${elsewhere.join(', ')}, and the configuration does not say that this server is there. If it is: "Jurisdictions": ${JSON.stringify(named)}`);
  }
  return named.length > 0 ? { ...values, JURISDICTIONS: 'simulated' } : values;
}
