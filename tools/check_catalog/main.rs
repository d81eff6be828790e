//! `make check-catalog FILE=…`: reports every fault of a catalog, with its place, before it is deployed.
//!
//! [`Catalog::parse`] owns the rules, for the Worker too. This program reads the file and the names of
//! secrets, and writes the report. It exits with 0 for a catalog without faults, 1 for one with faults,
//! and 2 when there was nothing to check. No value of a secret reaches the output. It runs on a person's
//! machine or in a CI and is no part of the Worker.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;
use std::{env, fs};

use aptix_edge::catalog::{Catalog, NeededSecret, needed_secrets};

/// Local secrets, as wrangler reads them, in the folder where the command runs.
const DEV_VARS: &str = ".dev.vars";
/// The most names on a line of the summary.
const NAMES_SHOWN: usize = 12;

/// The secrets of the deployment, as far as they are known here.
struct Secrets {
    names: BTreeSet<String>,
    /// Where the names come from besides the environment. Without any, a missing name is no fault: a CI
    /// rarely has the deployment's secrets.
    sources: Vec<&'static str>,
}

fn main() -> ExitCode {
    let (text, status) = match report() {
        Ok((report, status)) => (io::stdout().write_all(report.as_bytes()), status),
        Err(reason) => {
            let reason = format!("check-catalog: {reason}\n");
            (io::stderr().write_all(reason.as_bytes()), ExitCode::from(2))
        }
    };
    match text {
        // A reader that left early (`| head`) is no fault.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitCode::from(2),
        _ => status,
    }
}

/// The report and its exit status; an error when there is nothing to check.
fn report() -> Result<(String, ExitCode), String> {
    let mut arguments = env::args_os().skip(1);
    let (Some(file), None) = (arguments.next().filter(|file| !file.is_empty()), arguments.next())
    else {
        return Err("usage: make check-catalog FILE=catalog.json [SECRETS=\"NAME …\"]".to_owned());
    };
    let name = file.to_string_lossy();
    let text = fs::read(&file).map_err(|error| format!("{name} cannot be read: {error}"))?;
    let text =
        String::from_utf8(text).map_err(|_| format!("{name} is not UTF-8; store it as UTF-8"))?;
    let secrets = Secrets::known()?;
    let needed = needed_secrets(&text);
    let checked = Catalog::parse(&text);
    let mut faults: Vec<String> =
        checked.as_ref().err().into_iter().flatten().map(ToString::to_string).collect();
    faults.extend(secrets.faults(&needed));
    Ok(match checked {
        Ok(catalog) if faults.is_empty() => {
            (summary(&name, &catalog) + &secrets.summary(&needed), ExitCode::SUCCESS)
        }
        _ => (faults.join("\n") + "\n", ExitCode::FAILURE),
    })
}

impl Secrets {
    /// Names from the environment, `.dev.vars` and `SECRETS`.
    fn known() -> Result<Self, String> {
        let set = env::vars_os().filter(|(_, value)| !value.is_empty());
        let mut names: BTreeSet<String> =
            set.filter_map(|(name, _)| name.into_string().ok()).collect();
        let mut sources = Vec::new();
        match fs::read_to_string(DEV_VARS) {
            Ok(text) => {
                sources.push(DEV_VARS);
                names.extend(text.lines().filter_map(assigned_name));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{DEV_VARS} cannot be read: {error}")),
        }
        if let Ok(listed) = env::var("SECRETS") {
            sources.push("SECRETS");
            names.extend(listed.split_whitespace().map(str::to_owned));
        }
        Ok(Self { names, sources })
    }

    /// One line for each place that names a secret which is not there.
    fn faults(&self, needed: &[NeededSecret]) -> Vec<String> {
        if self.sources.is_empty() {
            return Vec::new();
        }
        let missing = needed.iter().filter(|secret| !self.names.contains(&secret.name));
        missing.map(|NeededSecret { name, path }| {
            format!(
                "{path}: the secret {name} is not in the environment, {DEV_VARS} or SECRETS; set it \
                 (wrangler secret put {name}) and name it there"
            )
        })
        .collect()
    }

    /// The secrets that the catalog needs, and whether they were looked for.
    fn summary(&self, needed: &[NeededSecret]) -> String {
        let names: BTreeSet<&str> = needed.iter().map(|secret| secret.name.as_str()).collect();
        let line = line("secrets it needs", names.iter().copied());
        let absent: Vec<&str> =
            names.into_iter().filter(|name| !self.names.contains(*name)).collect();
        let note = if needed.is_empty() {
            String::new()
        } else if self.sources.is_empty() {
            let absent = if absent.is_empty() { "none".to_owned() } else { absent.join(", ") };
            format!(
                "Whether they are set was not judged, because there is no {DEV_VARS} and no \
                 SECRETS=\"NAME …\". Not in this environment: {absent}.\n"
            )
        } else {
            format!("All of them are in the environment or {}.\n", self.sources.join(" or "))
        };
        line + &note
    }
}

/// What the catalog offers, one line for each kind of thing.
fn summary(file: &str, catalog: &Catalog) -> String {
    let default = &catalog.default_mode().key;
    [
        format!("{file} has no faults.\n"),
        line("agent contexts", catalog.agent_contexts().map(|(id, _)| id)),
        line("conversation contexts", catalog.conversation_contexts().map(|(id, _)| id)),
        line("modes", catalog.modes().iter().map(|mode| mode.key.as_str())),
        format!("  sessions start in {default} where their context names no mode\n"),
        line("server tools", catalog.server_tools().iter().map(|tool| tool.name.as_str())),
        line("MCP servers", catalog.mcp_servers()),
        line("models of embeddings", catalog.embeddings().iter().map(|by| by.model.as_str())),
    ]
    .concat()
}

/// `  kind (count): names`, cut so that it stays a line or two.
fn line<'n>(kind: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown: Vec<&str> = names.iter().copied().take(NAMES_SHOWN).collect();
    let rest = names.len().saturating_sub(NAMES_SHOWN);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let colon = if names.is_empty() { "" } else { ": " };
    format!("  {kind} ({}){colon}{}{more}\n", names.len(), shown.join(", "))
}

/// The name on a line of `.dev.vars`: `NAME=value`, possibly after `export`.
fn assigned_name(line: &str) -> Option<String> {
    let (name, _) = line.split_once('=')?;
    let name = name.trim();
    let name = name.strip_prefix("export ").unwrap_or(name).trim();
    (!name.is_empty() && !name.starts_with('#')).then(|| name.to_owned())
}
