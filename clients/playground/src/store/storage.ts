// What the browser keeps for this page. Owns that nothing fails where it keeps nothing: where site data is blocked or full,
// the page has the rest until it is left.
export class Kept {
  readonly #memory = new Map<string, string>();

  constructor(private readonly find: () => Storage) {}

  get(key: string): string | null {
    return this.#memory.get(key) ?? this.#with((storage) => storage.getItem(key)) ?? null;
  }

  /** A list that was kept as JSON; what is none, or of another form, is left out. */
  list<T>(key: string, isRight: (entry: any) => boolean): T[] {
    try {
      const held: unknown = JSON.parse(this.get(key) ?? '[]');
      return Array.isArray(held) ? held.filter(isRight) : [];
    } catch {
      return [];
    }
  }

  /** Whether it outlives the page. `isList`: where there is no room for it, the list that stands there already stays. */
  set(key: string, text: string, isList = false): boolean {
    const isKept = this.#with((storage) => (storage.setItem(key, text), true)) ?? false;
    if (isKept) this.#memory.delete(key);
    else {
      // What stood there before is not what counts any more. A list lacks only its newest entry, and is that of other tabs, too.
      if (!isList) this.remove(key);
      this.#memory.set(key, text);
    }
    return isKept;
  }

  remove(key: string): void {
    this.#memory.delete(key);
    this.#with((storage) => storage.removeItem(key));
  }

  keys(prefix: string): string[] {
    const kept = this.#with((storage) => Object.keys(storage)) ?? [];
    return [...new Set([...kept, ...this.#memory.keys()])].filter((key) => key.startsWith(prefix));
  }

  /** Whether an event of another tab is about this storage. */
  is(area: Storage | null): boolean {
    return area !== null && this.#with((storage) => storage === area) === true;
  }

  #with<T>(use: (storage: Storage) => T): T | undefined {
    try {
      return use(this.find());
    } catch {
      return undefined;
    }
  }
}

export const ofTab = new Kept(() => sessionStorage);
export const ofBrowser = new Kept(() => localStorage);
