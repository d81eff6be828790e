// What many measurements come to. `null` stands for what could not be measured, and stays `null`.

/** The middle of `values`. */
export const median = (values) => quantile(values, 0.5);

/** The value below which the share `q` of `values` lies. */
export function quantile(values, q) {
  if (values.length === 0 || values.includes(null)) return null;
  const sorted = values.toSorted((one, other) => one - other);
  const at = (sorted.length - 1) * q;
  const below = sorted[Math.floor(at)];
  return below + (sorted[Math.ceil(at)] - below) * (at - Math.floor(at));
}

/** `one / other`, where both are known. */
export const ratio = (one, other) => (one === null || other === null ? null : one / other);

/** `one - other`, where both are known. */
export const difference = (one, other) => (one === null || other === null ? null : one - other);
