// The completion of commands and options for shells, made of what the help says, so that it never differs from that. Nothing is
// asked of the service: a key at each press of a key would be too much.
/** The options of a command, as `parseArgs` takes them; `about` is what the help and the completion say. */
export type Options = Record<string, { type: "string" | "boolean"; multiple?: boolean; short?: string; about: string }>;

export const SHELLS = ["bash", "zsh", "fish"];

type Commands = Record<string, { does: string; options: Options }>;

/** What a shell reads, as `source <(aptix-edge completion bash)`; `undefined` for a shell that is not known. */
export function completion(shell: string, commands: Commands, common: Options): string | undefined {
  const make = { bash, zsh, fish }[shell];
  return make?.(commands, common);
}

const options = (of: Options) => Object.keys(of).map((name) => `--${name}`);

function bash(commands: Commands, common: Options): string {
  const cases = Object.entries(commands).map(([name, command]) => `    ${name}) words="${options({ ...command.options, ...common }).join(" ")}" ;;`);
  return `_aptix_edge() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "${[...Object.keys(commands), "help", ...options(common)].join(" ")}" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    help) words="${Object.keys(commands).join(" ")}"; COMPREPLY=($(compgen -W "$words" -- "$current")); return ;;
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
  esac
}
complete -o default -F _aptix_edge aptix-edge
`;
}

/** Within single quotes; zsh takes a colon as the end of a word's name. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const inZsh = (name: string, about: string) => quoted(`${name.replaceAll(":", "\\:")}:${about}`);

function zsh(commands: Commands, common: Options): string {
  const told = (of: Options) => Object.entries(of).map(([name, { about }]) => inZsh(`--${name}`, about)).join(" ");
  const cases = Object.entries(commands).map(([name, command]) => `    ${name}) told=(${told({ ...command.options, ...common })}) ;;`);
  return `_aptix_edge() {
  local -a told
  if (( CURRENT == 2 )); then
    told=(${Object.entries(commands).map(([name, { does }]) => inZsh(name, does)).join(" ")})
    _describe command told
    return
  fi
  case $words[2] in
${cases.join("\n")}
  esac
  if [[ $PREFIX == -* ]]; then _describe option told; else _files; fi
}
compdef _aptix_edge aptix-edge
`;
}

function fish(commands: Commands, common: Options): string {
  const told = (of: Options, when: string) => Object.entries(of).map(([name, { type, about }]) => `complete -c aptix-edge ${when} -l ${name}${type === "string" ? " -r" : ""} -d ${inFish(about)}`);
  const lines = Object.entries(commands).flatMap(([name, command]) => [
    `complete -c aptix-edge -n __fish_use_subcommand -a ${name} -d ${inFish(command.does)}`,
    ...told(command.options, `-n '__fish_seen_subcommand_from ${name}'`),
  ]);
  return `${[...lines, ...told(common, "")].join("\n").replaceAll("  ", " ")}\n`;
}
/** Fish knows a backslash within single quotes. */
const inFish = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
