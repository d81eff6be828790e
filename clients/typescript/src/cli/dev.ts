// The service on this machine: finds the package that serves it, or says how to get it. Owns no part of the service.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { type Terminal, UsageError } from "./terminal.js";

declare const VERSION: string;
const PACKAGE = "aptix-edge-server";

/** Runs the `dev` of the package that is installed where the command runs, or beside it; resolves to its exit code. */
export async function dev(args: string[], terminal: Terminal): Promise<number> {
  const program = found();
  if (program === undefined) {
    // No registry has it: whatever has its name there is somebody else's.
    throw new UsageError(`The service is a package of its own, which is not installed here, and no registry has it: npm install path/to/${PACKAGE}-${VERSION}.tgz, which "make package" makes in a checkout, then again. Node 22.16 or later runs it.`);
  }
  const child = spawn(process.execPath, [program, "dev", ...args], { stdio: "inherit" });
  terminal.signal.addEventListener("abort", () => child.kill("SIGTERM"));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

/** The program of the package, as Node finds it from the current folder, else from the client's own. */
function found(): string | undefined {
  for (const from of [path.join(process.cwd(), "package.json"), import.meta.url]) {
    try {
      return path.join(path.dirname(createRequire(from).resolve(`${PACKAGE}/package.json`)), "dist/cli.mjs");
    } catch {
      // Not there; the next place.
    }
  }
  return undefined;
}
