//! The keys of a scope that no document has (interface §7): most often misspelt ones, such as `path` for `Path`.
//!
//! They change nothing about a search; the caller gets a warning for each.

use std::collections::BTreeSet;

use super::tables::Tables;
use crate::contract::{RagCondition, Result, Warning};
use crate::json::nearest_name;
use crate::ports::{Database, unreadable_column};
use crate::retrieval::work_budget::{Work, WorkBudget};

/// The code of the warning.
pub(crate) const SCOPE_KEY_UNKNOWN: &str = "scope_key_unknown";

/// The keys that every document has.
const OF_EVERY_DOCUMENT: [&str; 2] = ["Path", "Language"];

/// The most keys of documents with which an unknown one is compared: the first in the order of their bytes.
const COMPARED_KEYS: usize = 128;

/// The work of finding one key in the index.
const LOOK_UP_WORK: Work = Work::from_us(20);

/// The work of comparing two characters of keys, and the most characters of each that are compared.
const CHARACTERS_WORK: Work = Work::from_ns(4);
const COMPARED_CHARACTERS: usize = 128;

/// A warning for each key that no document has, in the order of the conditions. An index without documents gives none:
/// its search returns nothing under any scope.
pub(crate) async fn unknown_scope_keys<D: Database, F: AsyncFn()>(
    tables: &Tables<D>,
    budget: &mut WorkBudget<F>,
    conditions: &[RagCondition],
) -> Result<Vec<Warning>> {
    if conditions.is_empty() || !tables.exist()? {
        return Ok(Vec::new());
    }
    let mut looked_up: BTreeSet<&str> = OF_EVERY_DOCUMENT.into();
    let mut unknown = Vec::new();
    for (index, RagCondition { key, .. }) in conditions.iter().enumerate() {
        if !looked_up.insert(key) {
            continue;
        }
        budget.spend(LOOK_UP_WORK).await;
        let row = "SELECT 1 FROM properties WHERE key = ? LIMIT 1";
        if tables.database.first(row, &[key.as_str().into()])?.is_none() {
            unknown.push((index, key));
        }
    }
    if unknown.is_empty() {
        return Ok(Vec::new());
    }
    budget.spend(LOOK_UP_WORK.times(COMPARED_KEYS)).await;
    let held = held_keys(tables)?;
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let others = held.iter().map(String::as_str);
    let known: Vec<&str> = OF_EVERY_DOCUMENT.into_iter().chain(others).collect();
    let compared = |key: &str| key.len().min(COMPARED_CHARACTERS);
    let characters: usize = known.iter().map(|key| compared(key)).sum();
    let mut warnings = Vec::with_capacity(unknown.len());
    for (index, key) in unknown {
        budget.spend(CHARACTERS_WORK.times(characters * compared(key))).await;
        warnings.push(warning(index, key, &known));
    }
    Ok(warnings)
}

/// The first keys that documents have, each once.
fn held_keys<D: Database>(tables: &Tables<D>) -> Result<Vec<String>> {
    // Each step is one look-up in the index, whatever number of documents has the key.
    let statement = "WITH RECURSIVE held (key) AS (
            SELECT MIN(key) FROM properties
            UNION ALL SELECT (SELECT MIN(key) FROM properties WHERE key > held.key) FROM held
                WHERE held.key IS NOT NULL LIMIT ?)
        SELECT json_group_array(key) AS keys FROM held WHERE key IS NOT NULL";
    let row = tables.row(statement, &[COMPARED_KEYS.into()])?;
    serde_json::from_str(&row.get::<String>("keys")?).map_err(|_| unreadable_column("keys"))
}

fn warning(index: usize, key: &str, known: &[&str]) -> Warning {
    let nearest = nearest_name(key, known.iter().copied());
    let hint = match nearest {
        Some(nearest) if nearest.is_likely => format!("; did you mean {}?", nearest.name),
        _ => ".".to_owned(),
    };
    let message = format!("No document of the workspace has the key {key}{hint}");
    let warning = Warning::new(SCOPE_KEY_UNKNOWN, message);
    let warning = warning.at(format!("/RagScope/Conditions/{index}/Key"));
    match nearest {
        Some(nearest) => warning.with("DidYouMean", nearest.name),
        None => warning,
    }
}
