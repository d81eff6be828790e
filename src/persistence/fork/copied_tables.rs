//! The tables whose rows a fork has of its parent, and the names of the texts that a row refers to.
//!
//! Not copied: webhooks, which were told of the parent, and responses, which are the parent's to delete.

use serde::Deserialize;

use crate::contract::Fault;
use crate::persistence::records::{StoredSchema, from_json};
use crate::persistence::texts;
use crate::ports::{Database, Row};

/// A table whose rows are copied.
pub(super) struct CopiedTable {
    pub(super) name: &'static str,
    /// The column that holds the turn.
    pub(super) turn: &'static str,
    /// The columns of the primary key, all of whole numbers.
    pub(super) keys: &'static [&'static str],
    /// The columns that may refer to a text.
    pub(super) documents: &'static [Document],
}

/// A column that holds JSON, or the reference to it.
pub(super) struct Document {
    pub(super) column: &'static str,
    /// Whether the JSON may refer to further texts.
    names_texts: bool,
}

const fn plain(column: &'static str) -> Document {
    Document { column, names_texts: false }
}

const fn naming(column: &'static str) -> Document {
    Document { column, names_texts: true }
}

/// All of them, in the order in which they are copied.
pub(super) const COPIED: [CopiedTable; 7] = [
    CopiedTable {
        name: "turns",
        turn: "ordinal",
        keys: &["ordinal"],
        documents: &[
            plain("composition"),
            naming("progress"),
            plain("outcome"),
            naming("model_call"),
        ],
    },
    CopiedTable {
        name: "conversation",
        turn: "turn",
        keys: &["seq"],
        documents: &[plain("items")],
    },
    CopiedTable {
        name: "calls",
        turn: "turn",
        keys: &["turn", "model_call", "position"],
        documents: &[plain("arguments"), plain("answer"), plain("approval")],
    },
    CopiedTable {
        name: "submissions",
        turn: "turn",
        keys: &["turn", "number"],
        documents: &[plain("outcome")],
    },
    CopiedTable {
        name: "model_calls",
        turn: "turn",
        keys: &["turn", "number"],
        documents: &[naming("record")],
    },
    CopiedTable { name: "mode_history", turn: "turn", keys: &["seq"], documents: &[] },
    CopiedTable {
        name: "steers",
        turn: "turn",
        keys: &["turn", "position"],
        documents: &[plain("request")],
    },
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
    ) -> Result<(), Fault> {
        for document in self.documents {
            let Some(held) = row.get::<Option<String>>(document.column)? else { continue };
            names.extend(texts::referred(&held).map(str::to_owned));
            if document.names_texts {
                let text = texts::from_column(database, held)?;
                let named: NamedTexts = from_json(document.column, &text)?;
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
