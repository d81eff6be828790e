// JSON as the text that it is. Owns reading a text's tokens without taking them for values: JavaScript holds numbers as
// doubles, so what it reads and writes again may be another number.
import { hex } from "./ids.js";

/** How much deeper the structure is behind a token. A string is told by its quote. */
const deeper = (token: string) => (/^[[{]/.test(token) ? 1 : /^[\]}]/.test(token) ? -1 : 0);
/** A string, a number or word, or a mark of the structure. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:,]|[^\s[\]{}:,"]+/gs;
/** Characters that nobody sees, or that turn the order in which others are read; line breaks and the space are none. */
const UNSEEN = /(?![ \n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** Deeper levels are not indented further: the text of many deep ones would be many times as long. */
const DEEPEST_INDENT = 20;

/**
 * JSON for a human to read: a line for each member and element, every token as it was written, and characters that
 * cannot be seen as `\u…`. It is the same JSON. A text that is no JSON keeps its lines.
 */
export function formatJson(json: string): string {
  // Of a character beyond the first 65,536, both of its halves.
  return (isJson(json) ? laidOut(json) : json).replace(UNSEEN, (found) => found.split("").map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`).join(""));
}

/** Whether two texts are the same JSON, token for token. */
export const isSameJson = (one: string, other: string): boolean => formatJson(one) === formatJson(other);

/** The members of the object that a JSON text is, each value as it is written. Of another value there are none. */
export function membersOf(json: string): Map<string, string> {
  const members = new Map<string, string>();
  let depth = 0;
  let name = "";
  /** Where the value of the member that is being read begins. */
  let from = 0;
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    if (depth === 0 && token !== "{") break;
    if (depth === 1) {
      if (token === ":") from = index + 1;
      else if (token === "," || token === "}") {
        if (from) members.set(name, json.slice(from, index).trim());
        from = 0;
      } else if (!from && token.startsWith('"')) name = JSON.parse(token) as string;
    }
    depth += deeper(token);
  }
  return members;
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON with a line for each member and element, every token as it was written. */
export function laidOut(json: string): string {
  const pieces: string[] = [];
  let depth = 0;
  let before = "";
  for (const [token] of json.matchAll(TOKEN)) {
    const closes = deeper(token) < 0;
    const opened = deeper(before) > 0;
    depth += Number(opened) - Number(closes);
    if (before === "," || opened !== closes) pieces.push(`\n${"  ".repeat(Math.min(depth, DEEPEST_INDENT))}`);
    else if (before === ":") pieces.push(" ");
    pieces.push(token);
    before = token;
  }
  return pieces.join("");
}
