// Where a program of this system is. Windows would look into the current folder first, which may be a stranger's repository with a
// program of that name: a program is one of the folders of PATH that are absolute, and no other.
import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";

/** The path of a program; throws where there is none. */
export function programAt(name: string): string {
  const file = process.platform === "win32" ? `${name}.exe` : name;
  const places = (process.env.PATH ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const found = places.map((folder) => path.join(folder, file)).find(isProgram);
  if (found === undefined) throw new Error(`There is no program ${name}.`);
  return found;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
