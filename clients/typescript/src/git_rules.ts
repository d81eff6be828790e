// The rules of .gitignore as git reads them, byte for byte. Owns which rule a path fits; what is left out by it is
// folder.ts. A text is a string here whose characters are bytes, since `?` and `[…]` of git are one byte.

/** The rule that decided about a path. */
export interface Rule {
  /** It takes back in. */
  negated: boolean;
  /** The path's last name stands in it letter for letter. */
  spelled: boolean;
}
interface Line extends Rule {
  foldersOnly: boolean;
  /** `name` is the last part of `path`. Neither has a `/` at its end. */
  fits(path: string, name: string): boolean;
}

/** What one byte may be: that one, or one of a class. */
type One = number | Uint8Array;
/** Any number of elements; among names, of folders. */
const STAR = null;
type Glob = readonly (One | typeof STAR)[];

const [SLASH, BACKSLASH, ASTERISK] = [0x2f, 0x5c, 0x2a];
const WILD = /[*?[\\]/;
const fold = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** A text as a string of its bytes in UTF-8. */
export function inBytes(text: string | Uint8Array): string {
  if (typeof text === "string" && !/[^\0-\x7f]/.test(text)) return text;
  return Array.from(typeof text === "string" ? new TextEncoder().encode(text) : text, (byte) => String.fromCharCode(byte)).join("");
}

/**
 * The lines of one file. With `foldsCase`, `A` is `a`, as git has it where the file system does; and an accent that stands by itself
 * in a name, as macOS keeps it, is one character with its letter, as git reads it there.
 */
export class GitRules {
  readonly #lines: Line[];

  constructor(contents: string | Uint8Array, private readonly foldsCase = false) {
    const text = inBytes(contents).replace(/^\xef\xbb\xbf/, "");
    this.#lines = (foldsCase ? fold(text) : text).split("\n").flatMap((line) => lineOf(line) ?? []).reverse();
  }

  /** The last rule that fits, of a path below the folder of the rules; a folder's path has a `/` at its end. */
  of(path: string): Rule | undefined {
    const isFolder = path.endsWith("/");
    // As it is stored, too: a rule may have been written so, and what it leaves out stays out.
    const spellings = Array.from(new Set(this.foldsCase ? [path.normalize(), path] : [path]), (spelling) => {
      const bytes = inBytes(spelling);
      const whole = (this.foldsCase ? fold(bytes) : bytes).slice(0, isFolder ? -1 : undefined);
      return { whole, name: whole.slice(whole.lastIndexOf("/") + 1) };
    });
    return this.#lines.find((line) =>
      (isFolder || !line.foldersOnly) && spellings.some(({ whole, name }, at) => (at === 0 || !line.negated) && line.fits(whole, name)));
  }
}

function lineOf(text: string): Line | undefined {
  let pattern = withoutSpaces(text.replace(/\r$/, "").replace(/\0.*$/s, ""));
  if (pattern.startsWith("#")) return undefined;
  const negated = pattern.startsWith("!");
  if (negated) pattern = pattern.slice(1);
  const foldersOnly = pattern.endsWith("/");
  if (foldersOnly) pattern = pattern.slice(0, -1);
  if (pattern === "") return undefined;
  const spelled = !WILD.test(pattern.slice(pattern.lastIndexOf("/") + 1));
  return { negated, spelled, foldersOnly, fits: pattern.includes("/") ? ofPath(pattern.replace(/^\//, "")) : ofName(pattern) };
}

/** Spaces at the end count where a backslash stands before them. */
function withoutSpaces(text: string): string {
  let end = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === " ") continue;
    end = at + 1;
  }
  return text.slice(0, end);
}

function ofName(pattern: string): Line["fits"] {
  if (!WILD.test(pattern)) return (_, name) => name === pattern;
  const rest = pattern.slice(1);
  if (pattern.startsWith("*") && !WILD.test(rest)) return (_, name) => name.endsWith(rest);
  const glob = parsed(pattern)?.flat();
  return (_, name) => glob !== undefined && isByte(glob, name);
}

function ofPath(pattern: string): Line["fits"] {
  const plain = pattern.search(WILD);
  if (plain < 0) return (path) => path === pattern;
  // Git compares what stands before the first wildcard by itself, so that `a**/b` is `a` and then `**/b`.
  const [begin, globs] = [pattern.slice(0, plain), parsed(pattern.slice(plain))];
  return (path) => globs !== undefined && path.startsWith(begin) && isPath(globs, path.slice(begin.length).split("/"));
}

const isByte = (glob: Glob, name: string) => isLike(glob, name.length, (one, at) => {
  const byte = name.charCodeAt(at);
  return typeof one === "number" ? one === byte : one[byte] === 1;
});
const isPath = (globs: readonly (Glob | typeof STAR)[], names: string[]) => isLike(globs, names.length, (glob, at) => isByte(glob, names[at]!));

/**
 * Whether elements are what a pattern says. Of its stars only the newest needs another try, since what stands between two
 * is best found as early as it can be: the time is never more than the product of the lengths.
 */
function isLike<One>(pattern: readonly (One | typeof STAR)[], length: number, isOne: (one: One, at: number) => boolean): boolean {
  let [next, at] = [0, 0];
  let star: { next: number; at: number } | undefined;
  while (at < length) {
    const one = pattern[next];
    if (one === STAR) star = { next: (next += 1), at };
    else if (one !== undefined && isOne(one, at)) [next, at] = [next + 1, at + 1];
    else if (star) [next, at] = [star.next, (star.at += 1)];
    else return false;
  }
  while (pattern[next] === STAR) next += 1;
  return next === pattern.length;
}

/** A pattern as a glob for each name, and stars for any number of folders; nothing, where no path fits. */
function parsed(pattern: string): (Glob | typeof STAR)[] | undefined {
  const bytes = Array.from(pattern, (character) => character.charCodeAt(0));
  const globs: (Glob | typeof STAR)[] = [];
  let glob: (One | typeof STAR)[] = [];
  for (let at = 0; at < bytes.length; at += 1) {
    let byte = bytes[at]!;
    if (byte === ASTERISK) {
      const from = at;
      while (bytes[at + 1] === ASTERISK) at += 1;
      const isAlone = from === 0 || bytes[from - 1] === SLASH;
      const isEscaped = bytes[at + 1] === BACKSLASH && bytes[at + 2] === SLASH;
      const isLast = at + 1 === bytes.length;
      if (at > from && isAlone && (isLast || isEscaped || bytes[at + 1] === SLASH)) {
        // At the end, and before a slash that is escaped, it stands for one name at least.
        if (isLast || isEscaped) globs.push([STAR]);
        globs.push(STAR);
        if (isLast) return globs;
        at += isEscaped ? 2 : 1;
      } else glob.push(STAR);
      continue;
    }
    if (byte === 0x3f) glob.push(ANY);
    else if (byte === 0x5b) {
      const found = classAt(bytes, at);
      if (!found) return undefined;
      glob.push(found.members);
      at = found.end;
    } else {
      if (byte === BACKSLASH) byte = bytes[(at += 1)] ?? 0;
      if (byte === 0) return undefined;
      if (byte === SLASH) {
        globs.push(glob);
        glob = [];
      } else glob.push(byte);
    }
  }
  return [...globs, glob];
}

const ANY = new Uint8Array(256).fill(1);
/** As git has them: of ASCII alone. */
const CLASSES: Record<string, RegExp> = {
  alnum: /[0-9A-Za-z]/, alpha: /[A-Za-z]/, blank: /[ \t]/, cntrl: /[\0-\x1f\x7f]/, digit: /[0-9]/, graph: /[!-~]/, lower: /[a-z]/,
  print: /[ -~]/, punct: /[!-/:-@[-`{-~]/, space: /[ \t\n\r]/, upper: /[A-Z]/, xdigit: /[0-9A-Fa-f]/,
};

/** The class that begins at a `[`, and where its `]` stands; nothing, where it has none. */
function classAt(bytes: number[], begin: number): { members: Uint8Array; end: number } | undefined {
  const members = new Uint8Array(256);
  let at = begin + 1;
  const isNegated = bytes[at] === 0x21 || bytes[at] === 0x5e;
  if (isNegated) at += 1;
  let before = 0;
  do {
    let byte = bytes[at];
    if (byte === undefined) return undefined;
    const next = bytes[at + 1];
    if (byte === BACKSLASH) {
      byte = bytes[(at += 1)];
      if (byte === undefined) return undefined;
      members[byte] = 1;
    } else if (byte === 0x2d && before !== 0 && next !== undefined && next !== 0x5d) {
      at += 1;
      const last = bytes[at] === BACKSLASH ? bytes[(at += 1)] : next;
      if (last === undefined) return undefined;
      members.fill(1, before, last + 1);
      byte = 0;
    } else if (byte === 0x5b && next === 0x3a) {
      const end = bytes.indexOf(0x5d, at + 2);
      if (end < 0) return undefined;
      if (end > at + 2 && bytes[end - 1] === 0x3a) {
        const name = String.fromCharCode(...bytes.slice(at + 2, end - 1));
        const isMember = Object.hasOwn(CLASSES, name) ? CLASSES[name] : undefined;
        if (!isMember) return undefined;
        for (let each = 0; each < 128; each += 1) if (isMember.test(String.fromCharCode(each))) members[each] = 1;
        at = end;
        byte = 0;
      } else members[byte] = 1;
    } else members[byte] = 1;
    before = byte;
    at += 1;
  } while (bytes[at] !== 0x5d);
  return { members: isNegated ? members.map((is) => 1 - is) : members, end: at };
}
