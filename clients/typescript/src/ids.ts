// Ids that the client makes.

/** An id of 32 hex digits. `crypto.randomUUID` is missing in pages that were not loaded over HTTPS. */
export const newId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
