//! The tables whose rows a fork has of its parent, and the names of the texts that a row refers to.
//!
//! Not copied: webhooks, which were told of the parent, and responses, which are the parent's to delete.

use serde::Deserialize;

use crate::contract::Result;
use crate::persistence::progress::StoredSchema;
use crate::persistence::records::from_json;
use crate::persistence::texts;
use crate::ports::{Database, Row};

/// A table whose rows are copied.
pub(super) struct CopiedTable {
    pub(super) name: &'static str,
    /// The column that holds the turn.
    pub(super) turn: &'static str,
    /// The columns of the primary key, all of whole numbers.
    pub(super) keys: &'static [&'static str],
    /// The columns that hold JSON, or the reference to it.
    pub(super) documents: &'static [&'static str],
}

/// The documents whose JSON may refer to further texts.
const NAMING: [&str; 3] = ["progress", "model_call", "record"];

const fn by_turn(
    name: &'static str,
    keys: &'static [&'static str],
    documents: &'static [&'static str],
) -> CopiedTable {
    CopiedTable { name, turn: "turn", keys, documents }
}

/// All of them, in the order in which they are copied.
pub(super) const COPIED: [CopiedTable; 7] = [
    CopiedTable {
        name: "turns",
        turn: "ordinal",
        keys: &["ordinal"],
        documents: &["composition", "progress", "outcome", "model_call"],
    },
    by_turn("conversation", &["seq"], &["items"]),
    by_turn("calls", &["turn", "model_call", "position"], &["arguments", "result", "approval"]),
    by_turn("submissions", &["turn", "number"], &["outcome"]),
    by_turn("model_calls", &["turn", "number"], &["record"]),
    by_turn("mode_history", &["seq"], &[]),
    by_turn("steers", &["turn", "position"], &["request"]),
];

/// The members of a turn's progress and of a transcript that name a kept text.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedTexts {
    received_tools: Option<String>,
    solution_context: Option<String>,
    output_schema: Option<StoredSchema>,
    #[serde(rename = "Template")]
    template: Option<String>,
    #[serde(rename = "Summarised")]
    summarised: Option<String>,
}

impl CopiedTable {
    /// Adds the names of the texts that a row refers to, directly or in its documents.
    pub(super) fn add_texts(
        &self,
        database: &impl Database,
        row: &Row,
        names: &mut Vec<String>,
    ) -> Result<()> {
        for document in self.documents {
            let Some(held) = row.get::<Option<String>>(document)? else { continue };
            names.extend(texts::referred(&held).map(str::to_owned));
            if NAMING.contains(document) {
                let text = texts::from_column(database, held)?;
                let named: NamedTexts = from_json(document, &text)?;
                let NamedTexts {
                    received_tools,
                    solution_context,
                    output_schema,
                    template,
                    summarised,
                } = named;
                let schema = output_schema.map(|stored| stored.schema);
                let named = [received_tools, solution_context, schema, template, summarised];
                names.extend(named.into_iter().flatten().filter(|name| !name.is_empty()));
            }
        }
        if self.turn == "ordinal" {
            names.push(row.get("tools")?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persistence::schema::{CALL_TABLES, STEERS, TABLES};

    /// The columns of text that always stands whole in its row, by their tables: names, hashes and short JSON.
    const WHOLE: [(&str, &[&str]); 7] = [
        ("turns", &["turn_id", "status", "tools", "fingerprint", "session_after"]),
        ("conversation", &["kind", "entry_state", "service"]),
        ("calls", &["call_id", "tool_call_id", "name", "runs_on"]),
        ("submissions", &["fingerprint", "caller"]),
        ("model_calls", &[]),
        ("mode_history", &["previous_mode", "new_mode", "reason"]),
        ("steers", &["steer_id", "fingerprint", "caller"]),
    ];

    /// Its name, and those of its columns that hold text.
    fn texts_of(table: &'static str) -> (&'static str, Vec<&'static str>) {
        let name = table.split(" (").next().unwrap().rsplit(' ').next().unwrap();
        let columns = table.lines().filter_map(|line| line.trim().split_once(" TEXT"));
        (name, columns.map(|(column, _)| column).collect())
    }

    #[test]
    fn a_column_of_text_is_copied_with_the_text_that_it_refers_to_or_stands_whole() {
        let tables = TABLES.iter().chain(CALL_TABLES).chain([&STEERS]).copied().map(texts_of);
        // A fork gets a row of its own for the session, and the texts that its rows refer to.
        let copied = tables.filter(|(name, _)| !["session", "texts"].contains(name));
        for (name, columns) in copied {
            let table = COPIED.iter().find(|table| table.name == name).expect(name);
            let (_, whole) = WHOLE.iter().find(|(table, _)| *table == name).expect(name);
            let mut known: Vec<&str> = table.documents.iter().chain(*whole).copied().collect();
            let mut columns = columns;
            known.sort_unstable();
            columns.sort_unstable();
            assert_eq!(columns, known, "{name}");
        }
    }
}
