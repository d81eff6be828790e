// Statistics over many measurements. `null` stands for a figure that could not be measured, and stays `null`.

/** The median of `values`. */
export const median = (values) => quantile(values, 0.5);

/** The quantile `q` of `values`. */
export function quantile(values, q) {
  if (values.length === 0 || values.includes(null)) return null;
  const sorted = values.toSorted((one, other) => one - other);
  const at = (sorted.length - 1) * q;
  const below = sorted[Math.floor(at)];
  return below + (sorted[Math.ceil(at)] - below) * (at - Math.floor(at));
}

/** `one / other`; `null` unless both are known. */
export const ratio = (one, other) => (one === null || other === null ? null : one / other);

/** `one - other`; `null` unless both are known. */
export const difference = (one, other) => (one === null || other === null ? null : one - other);
