// A key in the keychain of this system, by the address of its service: macOS, Linux (libsecret) and Windows have a program
// or an interface for it each. A key goes through the standard streams, never through an argument, which others can see.
import { spawn } from "node:child_process";
import { programAt } from "./program.js";
import { UsageError } from "./terminal.js";

const SERVICE = "aptix-edge";

interface Command {
  program: string;
  args: string[];
  input?: string;
}
interface Keychain {
  get(url: string): Command;
  set(url: string, key: string): Command;
  remove(url: string): Command;
}

/** A text in double quotation marks for `security -i`. */
const quoted = (text: string) => `"${text.replace(/["\\]/g, "\\$&")}"`;
const powershell = (script: string): Command => ({
  program: "powershell",
  args: ["-NoProfile", "-NonInteractive", "-Command", "-"],
  input: `$ErrorActionPreference = 'Stop'\n$vault = [Windows.Security.Credentials.PasswordVault, Windows.Security.Credentials, ContentType = WindowsRuntime]::new()\n${script}\n`,
});
const single = (text: string) => `'${text.replaceAll("'", "''")}'`;

const KEYCHAINS: Record<string, Keychain> = {
  darwin: {
    get: (url) => ({ program: "security", args: ["find-generic-password", "-s", SERVICE, "-a", url, "-w"] }),
    set: (url, key) => ({ program: "security", args: ["-i"], input: `add-generic-password -U -s ${SERVICE} -a ${quoted(url)} -w ${quoted(key)}\n` }),
    remove: (url) => ({ program: "security", args: ["delete-generic-password", "-s", SERVICE, "-a", url] }),
  },
  linux: {
    get: (url) => ({ program: "secret-tool", args: ["lookup", "service", SERVICE, "url", url] }),
    set: (url, key) => ({ program: "secret-tool", args: ["store", `--label=${SERVICE} ${url}`, "service", SERVICE, "url", url], input: key }),
    remove: (url) => ({ program: "secret-tool", args: ["clear", "service", SERVICE, "url", url] }),
  },
  win32: {
    get: (url) => powershell(`$vault.Retrieve(${single(SERVICE)}, ${single(url)}).Password`),
    set: (url, key) => powershell(`$vault.Add([Windows.Security.Credentials.PasswordCredential, Windows.Security.Credentials, ContentType = WindowsRuntime]::new(${single(SERVICE)}, ${single(url)}, ${single(key)}))`),
    remove: (url) => powershell(`$vault.Remove($vault.Retrieve(${single(SERVICE)}, ${single(url)}))`),
  },
};

function run({ program, args, input }: Command): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(programAt(program), args, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true });
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    child.on("error", reject);
    child.on("close", (code) => resolve(code === 0 ? output : undefined));
    // A program that has ended before it read all is no failure of ours.
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
  });
}

/** The key that is kept for a service; `undefined` where there is none, or no keychain. */
export async function keptKey(url: string, platform: string = process.platform): Promise<string | undefined> {
  const keychain = KEYCHAINS[platform];
  const output = keychain && (await run(keychain.get(url)).catch(() => undefined));
  return output?.trim() || undefined;
}

/** Keeps a key, or without one forgets it. */
export async function keep(url: string, key: string | undefined, platform: string = process.platform): Promise<void> {
  const keychain = KEYCHAINS[platform];
  const advice = "Give the key in APTIX_KEY instead.";
  if (!keychain) throw new UsageError(`There is no keychain for ${platform}. ${advice}`);
  if (key && /[\r\n]/.test(key)) throw new UsageError("A key is one line.");
  const command = key === undefined ? keychain.remove(url) : keychain.set(url, key);
  const output = await run(command).catch(() => {
    throw new UsageError(`The keychain of this system needs the program ${command.program}, which is not there. ${advice}`);
  });
  if (output === undefined) throw new UsageError(key === undefined ? `No key is kept for ${url}.` : `The keychain did not take the key. ${advice}`);
}
