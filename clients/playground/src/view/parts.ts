// Parts of the page that are fetched when they are needed for the first time.

/** A part; `undefined` where it cannot be fetched, and what it adds is then left out. */
export const fetched = <T>(part: Promise<T>): Promise<T | undefined> => part.catch(() => undefined);
