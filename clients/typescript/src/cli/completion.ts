// The completion of commands and options for shells, made of what the help says, so that it never differs from that. Nothing is
// asked of the service: a key at each press of a key would be too much.
/** The options of a command, as `parseArgs` takes them; `about` is what the help and the completion say. */
export type Options = Record<string, { type: "string" | "boolean"; multiple?: boolean; short?: string; about: string; values?: readonly string[] }>;

export const SHELLS = ["bash", "zsh", "fish"];

type Commands = Record<string, { does: string; options: Options; values?: readonly string[] }>;

/** What a shell reads, as `source <(aptix-edge completion bash)`; `undefined` for a shell that is not known. */
export function completion(shell: string, commands: Commands, common: Options): string | undefined {
  const make = { bash, zsh, fish }[shell];
  return make?.(commands, common);
}

const options = (of: Options) => Object.keys(of).map((name) => `--${name}`);

/** The options that are one of a few values. */
const choices = (commands: Commands) => Object.values(commands).flatMap(({ options }) => Object.entries(options).flatMap(([name, { values }]) => (values ? [[name, values.join(" ")] as const] : [])));

function bash(commands: Commands, common: Options): string {
  const cases = Object.entries(commands).map(([name, { options: own, values }]) =>
    `    ${name}) words="${options({ ...own, ...common }).join(" ")}"${values ? ` named="${values.join(" ")}"` : ""} ;;`);
  const valued = choices(commands).map(([name, values]) => `    --${name}) COMPREPLY=($(compgen -W "${values}" -- "$current")); return ;;`);
  return `_aptix_edge() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words named="" at=1
  while [ "$at" -lt "$COMP_CWORD" ]; do
    case "\${COMP_WORDS[at]}" in
      --url|--user) at=$((at + 2)) ;;
      -*) at=$((at + 1)) ;;
      *) break ;;
    esac
  done
  if [ "$at" -ge "$COMP_CWORD" ]; then
    COMPREPLY=($(compgen -W "${[...Object.keys(commands), "help", ...options(common)].join(" ")}" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[COMP_CWORD - 1]}" in
${valued.join("\n")}
  esac
  case "\${COMP_WORDS[at]}" in
${cases.join("\n")}
    help) named="${Object.keys(commands).join(" ")}" ;;
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$named" -- "$current")) ;;
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
  case $words[CURRENT-1] in
${choices(commands).map(([name, values]) => `    --${name}) compadd ${values}; return ;;`).join("\n")}
${Object.entries(commands).flatMap(([name, { values }]) => (values ? [`    ${name}) compadd ${values.join(" ")}; return ;;`] : [])).join("\n")}
  esac
  case $words[2] in
${cases.join("\n")}
  esac
  if [[ $PREFIX == -* ]]; then _describe option told; else _files; fi
}
compdef _aptix_edge aptix-edge
`;
}

function fish(commands: Commands, common: Options): string {
  const told = (of: Options, when: string) => Object.entries(of).map(([name, { type, about, values }]) =>
    `complete -c aptix-edge ${when} -l ${name}${values ? ` -x -a '${values.join(" ")}'` : type === "string" ? " -r" : ""} -d ${inFish(about)}`);
  const lines = Object.entries(commands).flatMap(([name, command]) => [
    `complete -c aptix-edge -n __fish_use_subcommand -a ${name} -d ${inFish(command.does)}`,
    ...(command.values ? [`complete -c aptix-edge -n '__fish_seen_subcommand_from ${name}' -x -a '${command.values.join(" ")}'`] : []),
    ...told(command.options, `-n '__fish_seen_subcommand_from ${name}'`),
  ]);
  return `${[...lines, ...told(common, "")].join("\n").replaceAll("  ", " ")}\n`;
}
/** Fish knows a backslash within single quotes. */
const inFish = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
