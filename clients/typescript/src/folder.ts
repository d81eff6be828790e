// What a folder holds for an index: the text that people write. Owns which files are left out and why, for the command
// line and the playground; it reads through `Folder` and `File`, and never touches a file system itself.
import { GitRules, type Rule } from "./git_rules.js";

/** A folder, wherever it is. */
export interface FolderSource {
  /** Rejects where it must not be read. */
  entries(): Promise<Entry[]>;
}
/** A file. `version` is another one when the file has changed; what was seen of an equal one is not read again. */
export interface FileSource {
  size: number;
  version?: string;
  /** Rejects where it must not be read. */
  bytes(): Promise<Uint8Array>;
}
/** A name in a folder; `link` is what is neither file nor folder, or leads elsewhere. */
export type Entry = { name: string } & ({ kind: "folder"; folder: FolderSource } | { kind: "file"; file: FileSource } | { kind: "link" });

export const REASONS = {
  ignored: "ignored by .gitignore or .aptixignore",
  hidden: "hidden",
  built: "built or installed",
  lock: "lock files",
  generated: "generated",
  secret: "keys and secrets",
  binary: "binary, or not UTF-8",
  large: "too large",
  empty: "empty",
  link: "links and devices",
  unreadable: "not readable",
} as const;
export type Reason = keyof typeof REASONS;

/** A file or folder that is left out; a folder has a `/` at its end, and stands for all that it holds. */
export interface Passed {
  path: string;
  reason: Reason;
  /** Why it could not be read. */
  error?: Error;
}
/** A file whose text belongs into the index. */
export interface TextFile {
  path: string;
  file: FileSource;
  /** It was named by `include`. */
  isIncluded: boolean;
}

/** The files whose lines are rules, the later the stronger. */
export const RULE_FILES = [".gitignore", ".aptixignore"];
/** Of one file, unless told otherwise. */
export const LONGEST_BYTES = 2 << 20;
/** The bytes at a file's head that tell whether tools wrote it. */
const HEAD = 2048;

/** What is git's own is never entered, nor read for what it holds. A file system may have other names for it. */
export const isGits = (name: string) => /^(?:\.git|git~\d)[. ]*(?::|$)/i.test(name);
/** Rules by name, in the form of .gitignore. */
const BY_NAME = {
  hidden: [".*"],
  built: [
    ..."node_modules bower_components jspm_packages target dist build out coverage htmlcov obj _build __pycache__ venv".split(" "),
    ..."site-packages *.egg-info cmake-build-* DerivedData Pods Carthage zig-out elm-stuff".split(" "),
  ].map((name) => `${name}/`),
  lock: [
    ..."package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock Cargo.lock go.sum".split(" "),
    ..."poetry.lock uv.lock pdm.lock Pipfile.lock composer.lock Gemfile.lock flake.lock Podfile.lock pubspec.lock".split(" "),
    ..."mix.lock gradle.lockfile packages.lock.json Package.resolved".split(" "),
  ],
  generated: [
    ..."*.min.js *.min.mjs *.min.css *.map *.tsbuildinfo *.pb.go *.pb.cc *.pb.h *_pb2.py *_pb2_grpc.py *.g.dart".split(" "),
    ..."*.freezed.dart *.designer.cs *.snap *.generated.*".split(" "),
  ],
} satisfies Partial<Record<Reason, string[]>>;
const DATA = "yaml yml json toml ini cfg conf properties env txt xml csv".split(" ");
/** Names of files that hold a key or a password, in any case of letters. */
const SECRET = [
  ..."*.pem *.key *.p8 *.p12 *.pfx *.jks *.keystore *.ppk *.kdb *.kdbx *.agekey *.ovpn".split(" "),
  ..."id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk".split(" "),
  ..."*.env .env.* .envrc !*.example !*.sample !*.template !*.dist".split(" "),
  ...["secret", "secrets", "credential", "credentials"].flatMap((name) => [name, ...DATA.flatMap((kind) => [`${name}.${kind}`, `*.${name}.${kind}`])]),
  ..."*.tfstate *.tfstate.* *.tfvars *.tfvars.json credentials.tfrc.json kubeconfig kubeconfig.* *.kubeconfig".split(" "),
  ..."htpasswd .htpasswd *.htpasswd .netrc _netrc .npmrc .yarnrc.yml .pypirc .pgpass .my.cnf .git-credentials .dockercfg".split(" "),
  ..."client_secret*.json application_default_credentials.json local.settings.json .vault-token .vault_pass rclone.conf".split(" "),
  ...".ssh/ .gnupg/ .aws/ .azure/ .kube/ .docker/".split(" "),
];
/** What a key looks like, wherever it stands in a text: also in a member of JSON, behind a comment or a certificate. */
const KEYS = [
  // PEM, PGP and SSH2: before a body or the end, unlike where a text tells of them.
  /-{4,5} ?BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{4,5}(?:\\+[nr]|[\s"'`+,>#*/|])*(?:[A-Za-z0-9]|$)/,
  /-{5}BEGIN OpenVPN Static key/,
  /PuTTY-User-Key-File-\d/,
  /\bAGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{8}/,
  // WireGuard, and what kubectl keeps.
  /^[ \t]*PrivateKey[ \t]*=[ \t]*[A-Za-z0-9+/]{42,43}=/m,
  /\bclient-key-data["']?:\s*["']?[A-Za-z0-9+/]{16}/,
];
/** The members that a JSON Web Key with its private part has, in any order. */
const JWK = [/"kty"\s*:/, /"(?:d|k)"\s*:\s*"[\w-]{16}/];
/** What programs write above what they generate. */
const GENERATED = /^.{0,20}(code generated .*do not edit|@generated\b|<auto-generated)/im;
/** A line so long in a script or a style was written by no one. */
const LONG_LINE = 5000;

/** The lines of an ignore file, which hold for a folder by its path from the uppermost one that has rules; `a/b/`, or "". */
export interface FolderRules {
  folder: string;
  lines: Uint8Array;
}
export interface WalkOptions {
  /** Of one file. 2 MiB. */
  maxBytes?: number;
  /** Where the folder that is walked lies below the uppermost one that has rules, `a/b/`, and the rules from there on, the uppermost first. */
  above?: { base: string; rules: FolderRules[] };
  /** Patterns in the form of .gitignore: what is named so is taken, a secret, too, unless an ignore file leaves it out. */
  include?: readonly string[];
  /** Whether rules do not tell cases of letters apart, as git where the file system does not. */
  foldsCase?: boolean;
}

/** Rules on names: the product's own, and those of the ignore files on the way to a name. */
export class Names {
  readonly #own = Object.entries(BY_NAME).map(([reason, rules]) => ({ reason: reason as Reason, rules: new GitRules(rules.join("\n")) }));
  readonly #secret = new GitRules(SECRET.join("\n"), true);
  readonly #included: GitRules;
  /** By the folder for which they hold. */
  readonly #ofFolders = new Map<string, GitRules[]>();
  readonly #base: string;

  constructor(private readonly options: WalkOptions) {
    const { above = { base: "", rules: [] }, include = [] } = options;
    this.#included = new GitRules(include.join("\n"));
    this.#base = above.base;
    for (const { folder, lines } of above.rules) this.#add(folder, lines);
  }

  /** A folder's ignore file, by the folder's path below the one that is walked. */
  add(folder: string, lines: Uint8Array): void {
    this.#add(this.#base + folder, lines);
  }

  #add(folder: string, lines: Uint8Array): void {
    this.#ofFolders.set(folder, [new GitRules(lines, this.options.foldsCase), ...(this.#ofFolders.get(folder) ?? [])]);
  }

  /** Why a name is left out, where its folder is not. A folder has a `/` at its end. */
  reason(path: string): Reason | undefined {
    const name = path.slice(path.lastIndexOf("/", path.length - 2) + 1);
    if (isGits(name.replace(/\/$/, ""))) return "hidden";
    const rule = this.#rule(this.#base + path);
    if (rule && !rule.negated) return "ignored";
    if (this.isIncluded(path)) return undefined;
    // No file of the folder gives a secret away: whoever wrote it may not be who keeps the secret.
    const secret = this.#secret.of(name);
    if (secret && !secret.negated) return "secret";
    // A rule of the product's own falls to one that spells the name, and not to one that takes back all of a kind.
    return rule?.spelled ? undefined : this.#own.find(({ rules }) => rules.of(name))?.reason;
  }

  isIncluded(path: string): boolean {
    return this.#included.of(path)?.negated === false;
  }

  /** Whether the folder that is walked is itself left out by what stands above it. */
  get isIgnored(): boolean {
    const folders = this.#base.split("/").slice(0, -1).map((_, at, all) => `${all.slice(0, at + 1).join("/")}/`);
    return folders.some((folder) => this.#rule(folder)?.negated === false);
  }

  /** The rule of the ignore file that stands nearest, and in one file the last. */
  #rule(path: string): Rule | undefined {
    for (let end = path.length; end > 0; ) {
      end = path.lastIndexOf("/", end - 2) + 1;
      for (const rules of this.#ofFolders.get(path.slice(0, end)) ?? []) {
        const rule = rules.of(path.slice(end));
        if (rule) return rule;
      }
    }
    return undefined;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Whether a text holds a private key. */
export const hasKey = (text: string) =>
  // Of each object by itself, since one pattern for both members takes the square of a text's length.
  KEYS.some((key) => key.test(text)) || (JWK[0]!.test(text) && text.split(/[{}]/).some((object) => JWK.every((member) => member.test(object))));

/** The text of a file, or why it is none for an index. A key in a file that was `included` by its name is none. */
export function textOf(path: string, bytes: Uint8Array, isIncluded = false): { text: string } | { reason: Reason } {
  if (bytes.includes(0)) return { reason: "binary" };
  let text;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { reason: "binary" };
  }
  if (text.trim() === "") return { reason: "empty" };
  if (isIncluded) return { text };
  if (hasKey(text)) return { reason: "secret" };
  const head = text.slice(0, HEAD);
  const isLong = /\.(m?js|cjs|css)$/.test(path) && text.split("\n").some((line) => line.length > LONG_LINE);
  return isLong || GENERATED.test(head) ? { reason: "generated" } : { text };
}

/** The text of a file that is sent. Since it was judged, a key may have been written into it. */
export function unchanged(read: ReturnType<typeof textOf>): string {
  if ("reason" in read) throw new Error(`It has changed meanwhile: ${REASONS[read.reason]}`);
  return read.text;
}

/**
 * All that a folder holds, in the order of names: files that may be text by their names, and what is left out. `names`
 * then have the rules of each folder.
 */
export async function* walk(root: FolderSource, options: WalkOptions = {}, names = new Names(options)): AsyncGenerator<TextFile | Passed, void, void> {
  if (names.isIgnored) yield { path: "./", reason: "ignored" };
  else yield* walked("", root, names, options.maxBytes ?? LONGEST_BYTES);
}

async function* walked(above: string, folder: FolderSource, names: Names, maxBytes: number): AsyncGenerator<TextFile | Passed, void, void> {
  let entries: Entry[];
  try {
    entries = (await folder.entries()).sort((a, b) => (a.name < b.name ? -1 : 1));
    const files = [await excluded(entries), ...RULE_FILES.map((name) => named(entries, name, "file")?.file)];
    for (const file of files) if (file) names.add(above, await file.bytes());
  } catch (error) {
    return yield { path: above || "./", reason: "unreadable", error: error as Error };
  }
  for (const entry of entries) {
    const path = above + entry.name + (entry.kind === "folder" ? "/" : "");
    const reason = names.reason(path);
    if (reason) yield { path, reason };
    else if (entry.kind === "link") yield { path, reason: "link" };
    else if (entry.kind === "folder") yield* walked(path, entry.folder, names, maxBytes);
    else if (entry.file.size > maxBytes) yield { path, reason: "large" };
    else yield { path, file: entry.file, isIncluded: names.isIncluded(path) };
  }
}

const named = <Kind extends Entry["kind"]>(entries: Entry[], name: string, kind: Kind) =>
  entries.find((entry): entry is Entry & { kind: Kind } => entry.name === name && entry.kind === kind);

/** The rules of a repository that are in no file of its own tree. */
async function excluded(entries: Entry[]): Promise<FileSource | undefined> {
  const git = named(entries, ".git", "folder");
  const info = git && named(await git.folder.entries(), "info", "folder");
  return info && named(await info.folder.entries(), "exclude", "file")?.file;
}

/** What was left out, by reason, the most first. */
export function counted(passed: readonly Passed[]): { reason: Reason; count: number }[] {
  const counts = new Map<Reason, number>();
  for (const { reason } of passed) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count);
}
