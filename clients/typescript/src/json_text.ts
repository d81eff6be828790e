// JSON as the text that it is. Owns reading a text's tokens without taking them for values: JavaScript holds numbers as
// doubles, so what it reads and writes again may be another number.

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
  const units = (found: string) => [...Array(found.length).keys()].map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`);
  return (isJson(json) ? laidOut(json) : json).replace(UNSEEN, (found) => units(found).join(""));
}

/** Whether two texts are the same JSON, token for token. */
export const isSameJson = (one: string, other: string): boolean => formatJson(one) === formatJson(other);

/** The members of the object that a JSON text is, each value as it is written. Of another value there are none. */
export function membersOf(json: string): Map<string, string> {
  const members = new Map<string, string>();
  let depth = 0;
  let name: string | undefined;
  let from = 0;
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    if (depth === 0 && token !== "{") break;
    if (depth === 1 && name !== undefined && (token === "," || token === "}")) {
      members.set(name, json.slice(from, index).trim());
      name = undefined;
    } else if (depth === 1 && name === undefined && token.startsWith('"')) name = JSON.parse(token) as string;
    else if (depth === 1 && token === ":") from = index + 1;
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
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

function laidOut(json: string): string {
  const pieces: string[] = [];
  let depth = 0;
  let before = "";
  for (const [token] of json.matchAll(TOKEN)) {
    const closes = token === "}" || token === "]";
    const opened = before === "{" || before === "[";
    if (closes) depth -= 1;
    if (before === "," || opened !== closes) pieces.push(`\n${"  ".repeat(Math.min(depth, DEEPEST_INDENT))}`);
    else if (before === ":") pieces.push(" ");
    pieces.push(token);
    if (token === "{" || token === "[") depth += 1;
    before = token;
  }
  return pieces.join("");
}
