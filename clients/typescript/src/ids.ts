// Ids that the client makes.

/** A number by so many hex digits. */
export const hex = (number: number, digits: number) => number.toString(16).padStart(digits, "0");

/** An id of 32 hex digits. `crypto.randomUUID` is missing in pages that were not loaded over HTTPS. */
export const newId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => hex(byte, 2)).join("");
