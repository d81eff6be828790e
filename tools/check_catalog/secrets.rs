//! The secrets and variables of the deployment, as far as this machine knows them: from the environment, from
//! `.dev.vars` in the folder where the command runs, and, their names alone, from `SECRETS`.
//!
//! No value reaches the output ([`Secrets::removed_from`]).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs, io};

use aptix_edge::catalog::NeededSecret;

use crate::report::line;

/// Local secrets, as wrangler reads them.
const DEV_VARS: &str = ".dev.vars";
/// What names a model service to `make dev`, which answers by a stand-in without either.
const MODEL_KEY: &str = "OPENAI_API_KEY";
const MODEL_ADDRESS: &str = "OPENAI_BASE_URL";

pub(crate) struct Secrets {
    /// The values that are known; the environment goes before the file.
    values: BTreeMap<String, String>,
    /// The names in `SECRETS`, whose values are known elsewhere.
    listed: BTreeSet<String>,
    /// Where the names come from besides the environment. Without any, a missing name is no fault: a CI
    /// rarely has the deployment's secrets.
    sources: Vec<&'static str>,
}

impl Secrets {
    pub(crate) fn known() -> Result<Self, String> {
        let mut values = BTreeMap::new();
        let mut sources = Vec::new();
        match fs::read_to_string(DEV_VARS) {
            Ok(text) => {
                sources.push(DEV_VARS);
                // Some editors write a mark first.
                let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
                values.extend(text.lines().filter_map(assignment));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{DEV_VARS} cannot be read: {error}")),
        }
        let set = env::vars_os().filter(|(_, value)| !value.is_empty());
        values.extend(set.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }));
        let mut listed = BTreeSet::new();
        if let Ok(names) = env::var("SECRETS") {
            sources.push("SECRETS");
            listed.extend(names.split_whitespace().map(str::to_owned));
        }
        Ok(Self { values, listed, sources })
    }

    /// The value of a secret or a variable.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// A text with `***` in the place of each value of these secrets.
    pub(crate) fn removed_from(&self, text: &str, needed: &[NeededSecret]) -> String {
        let values = needed.iter().filter_map(|secret| self.value(&secret.name));
        let mut values: Vec<&str> = values.collect();
        // The longer of two that begin alike comes first.
        values.sort_by_key(|value| Reverse(value.len()));
        values.iter().fold(text.to_owned(), |text, value| text.replace(value, "***"))
    }

    /// One line for each place that names a secret which is not there.
    pub(crate) fn faults(&self, needed: &[NeededSecret]) -> Vec<String> {
        if self.sources.is_empty() {
            return Vec::new();
        }
        let missing = needed.iter().filter(|secret| !self.has(&secret.name));
        missing.map(|NeededSecret { name, path }| {
            format!(
                "{path}: the secret {name} is not in the environment, {DEV_VARS} or SECRETS; set it \
                 (wrangler secret put {name}) and name it there"
            )
        })
        .collect()
    }

    /// The secrets that the catalog needs, and whether they were looked for.
    pub(crate) fn summary(&self, needed: &[NeededSecret]) -> String {
        let names: BTreeSet<&str> = needed.iter().map(|secret| secret.name.as_str()).collect();
        let line = line("secrets it needs", names.iter().copied());
        let absent: Vec<&str> = names.into_iter().filter(|name| !self.has(name)).collect();
        let note = if needed.is_empty() {
            String::new()
        } else if self.sources.is_empty() {
            let absent = if absent.is_empty() { "none".to_owned() } else { absent.join(", ") };
            format!(
                "Whether they are set was not judged, because there is no {DEV_VARS} and no \
                 SECRETS=\"NAME …\". Not in this environment: {absent}.\n"
            )
        } else {
            let is_left = needed.iter().any(|secret| {
                self.value(&secret.name).is_none() && self.is_left_to_stand_in(&secret.name)
            });
            let of =
                if is_left { format!("All but {MODEL_KEY}") } else { "All of them".to_owned() };
            let rest = if is_left { "; without it, make dev answers by its stand-in" } else { "" };
            format!("{of} are in the environment or {}{rest}.\n", self.sources.join(" or "))
        };
        line + &note
    }

    fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
            || self.listed.contains(name)
            || self.is_left_to_stand_in(name)
    }

    /// Whether `make dev` answers by its stand-in, which needs no key: no model service is named, and the secrets are those
    /// of this machine alone. A list in `SECRETS` is the deployment's.
    fn is_left_to_stand_in(&self, name: &str) -> bool {
        name == MODEL_KEY && self.sources == [DEV_VARS] && self.value(MODEL_ADDRESS).is_none()
    }
}

/// The name and value on a line of `.dev.vars`: `NAME=value`, possibly after `export`, the value possibly in
/// quotation marks.
fn assignment(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let name = name.strip_prefix("export ").unwrap_or(name).trim();
    let value = value.trim();
    let inside = |mark: char| value.strip_prefix(mark)?.split_once(mark).map(|(inside, _)| inside);
    let quoted = ['"', '\'', '`'].into_iter().find_map(inside);
    let value = quoted.unwrap_or_else(|| value.split(" #").next().unwrap_or(value).trim());
    let is_name = !name.is_empty() && !name.starts_with('#');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}
