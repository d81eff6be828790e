// Where the files of the package stand, and what its build has written down of the product (build.mjs).
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

// This code is one file of the package, dist/cli.mjs.
export const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const inPackage = (name) => path.join(PACKAGE, name);

export const WORKER = inPackage('worker');
export const PAGE = inPackage('page');

/**
 * `version`, `commit`, `compatibilityDate`, `compatibilityFlags`, `objects` as `[binding, class]`, `migrations` as `[tag,
 * classes]`, `variables`: the names that the product knows, and `forms`: `{ holds: { class, table, number } }`.
 */
export const PRODUCT = existsSync(inPackage('product.json')) ? JSON.parse(readFileSync(inPackage('product.json'), 'utf8')) : undefined;

/** The object class of the front, which holds files. */
export const FILE_STORE = 'FileStore';
/** The name of a class's folder below `objects`. */
export const folderOf = (className) => `aptix-edge-${className}`;
