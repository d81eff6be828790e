//! What a session hands to its fork: the session as it was after a turn, then rows and texts in pages.

use serde::{Deserialize, Serialize};

use super::copied_tables::{COPIED, CopiedTable};
use crate::contract::Result;
use crate::persistence::progress::TurnProgress;
use crate::persistence::records::{Session, from_json, to_json};
use crate::persistence::session_store::SessionStore;
use crate::persistence::{schema, texts};
use crate::ports::{Database, Row, SqlValue};

/// The length at which a page ends, in bytes.
const PAGE_BYTES: usize = 500_000;

/// The most rows of a page.
const PAGE_ROWS: usize = 100;

/// What a fork gets first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ForkHead {
    /// The form of the rows: only a session of the same form can take them.
    pub(crate) schema: usize,
    /// Equal as long as no copied row has changed.
    pub(crate) version: String,
    /// The parent's row as it was after the turn.
    pub(crate) session: Session,
}

/// A place in the rows to copy: a table, and the key of the last row before the place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RowPlace {
    table: usize,
    after: Vec<u64>,
}

/// Some of the rows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RowPage {
    /// By the place of their table in the list of copied tables.
    pub(crate) rows: Vec<(usize, Row)>,
    /// The names of the texts that they refer to.
    pub(crate) texts: Vec<String>,
    /// Where the next page begins; `None` after the last.
    pub(crate) next: Option<RowPlace>,
}

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TextPlace {
    pub(crate) name: String,
    /// The number of a part.
    pub(crate) part: u64,
}

/// Some parts of a text.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TextPage {
    pub(crate) parts: Vec<String>,
    /// The text goes on.
    pub(crate) goes_on: bool,
}

impl ForkHead {
    /// Whether the rows are of another form than this version of the product has.
    pub(crate) fn is_of_other_form(&self) -> bool {
        self.schema != schema::SCHEMA.form()
    }
}

impl RowPlace {
    /// The place before the first row.
    pub(crate) fn first() -> Self {
        Self::of_table(0)
    }

    fn of_table(table: usize) -> Self {
        let keys = COPIED.get(table).map_or(0, |table| table.keys.len());
        Self { table, after: vec![0; keys] }
    }
}

impl<D: Database> SessionStore<D> {
    /// The session as it was after a turn, for a fork. No turn up to there is live.
    pub(crate) fn fork_head(&self, turns: u64) -> Result<ForkHead> {
        let session = self.session_after(turns)?;
        Ok(ForkHead {
            schema: schema::SCHEMA.form(),
            version: self.version_of_rows(&session, turns)?,
            session,
        })
    }

    /// The bytes that a fork copies: the documents of the turns up to an ordinal, and the texts that turns may share. No
    /// text is read for it.
    pub(crate) fn fork_bytes(&self, turns: u64) -> Result<u64> {
        let mut bytes = 0_u64;
        let mut add = |statement: &str| -> Result<()> {
            bytes = bytes.saturating_add(self.number(statement, &[turns.into()])?);
            Ok(())
        };
        for table in COPIED.iter().filter(|table| !table.documents.is_empty()) {
            if !self.has_table(table.name)? {
                continue;
            }
            let length = |document: &&str| format!("COALESCE(OCTET_LENGTH({document}), 0)");
            let lengths = table.documents.iter().map(length).collect::<Vec<_>>().join(" + ");
            let (name, turn) = (table.name, table.turn);
            add(&format!(
                "SELECT COALESCE(SUM({lengths}), 0) AS number FROM {name} WHERE {turn} <= ?"
            ))?;
        }
        add("SELECT COALESCE(SUM(OCTET_LENGTH(text)), 0) AS number FROM texts
             WHERE hash NOT LIKE 'entry %' AND hash NOT LIKE 'progress %' OR hash IN (
                SELECT SUBSTR(items, 2) FROM conversation
                WHERE turn <= ?1 AND OCTET_LENGTH(items) <= 65 AND items LIKE '@%'
                UNION ALL SELECT SUBSTR(progress, 2) FROM turns
                WHERE ordinal <= ?1 AND OCTET_LENGTH(progress) <= 65 AND progress LIKE '@%')")?;
        Ok(bytes)
    }

    /// The rows of the turns up to an ordinal, from a place on.
    pub(crate) fn fork_rows(&self, turns: u64, place: RowPlace) -> Result<RowPage> {
        let mut page = RowPage { rows: Vec::new(), texts: Vec::new(), next: None };
        let (mut place, mut bytes) = (place, 0);
        while let Some(table) = COPIED.get(place.table) {
            if bytes >= PAGE_BYTES || page.rows.len() >= PAGE_ROWS {
                page.next = Some(place);
                break;
            }
            match self.next_row(table, turns, &place.after)? {
                None => place = RowPlace::of_table(place.table + 1),
                Some(mut row) => {
                    self.leave_response_out(table, &mut row)?;
                    let keys = table.keys.iter().map(|key| row.get::<u64>(key));
                    place.after = keys.collect::<Result<_>>()?;
                    table.add_texts(self.database.as_ref(), &row, &mut page.texts)?;
                    let texts = row.0.values().filter_map(|value| value.as_str());
                    bytes += texts.map(str::len).sum::<usize>();
                    page.rows.push((place.table, row));
                }
            }
        }
        page.texts.sort_unstable();
        page.texts.dedup();
        Ok(page)
    }

    /// Parts of a text, from a place on.
    pub(crate) fn fork_text(&self, place: &TextPlace) -> Result<TextPage> {
        let mut page = TextPage { parts: Vec::new(), goes_on: true };
        let mut bytes = 0;
        while bytes < PAGE_BYTES {
            let part = place.part + page.parts.len() as u64;
            let statement = "SELECT text FROM texts WHERE hash = ? AND part = ?";
            let named = [place.name.as_str().into(), part.into()];
            let Some(text) = self.database.text(statement, &named, "text")? else {
                page.goes_on = false;
                break;
            };
            bytes += text.len();
            page.parts.push(text);
        }
        if place.part == 0 && page.parts.is_empty() {
            return Err(texts::lost("a text"));
        }
        Ok(page)
    }

    fn next_row(&self, table: &CopiedTable, turns: u64, after: &[u64]) -> Result<Option<Row>> {
        if !self.has_table(table.name)? {
            return Ok(None);
        }
        let (name, turn, keys) = (table.name, table.turn, table.keys.join(", "));
        let places = vec!["?"; table.keys.len()].join(", ");
        let statement = format!(
            "SELECT * FROM {name} WHERE ({keys}) > ({places}) AND {turn} <= ? ORDER BY {keys} LIMIT 1"
        );
        let mut parameters: Vec<SqlValue> = after.iter().map(|key| (*key).into()).collect();
        parameters.push(turns.into());
        self.database.first(&statement, &parameters)
    }

    /// Takes the background response that a failed turn still waits for out of the turn's row: it is the parent's to read,
    /// and to cancel.
    fn leave_response_out(&self, table: &CopiedTable, row: &mut Row) -> Result<()> {
        if table.name != "turns" {
            return Ok(());
        }
        let progress = texts::from_column(self.database.as_ref(), row.get("progress")?)?;
        if !progress.contains("\"pending\":") {
            return Ok(());
        }
        let mut progress: TurnProgress = from_json("progress", &progress)?;
        if progress.pending.take().is_some() {
            let column =
                texts::to_column(self.database.as_ref(), &to_json("progress", &progress)?)?;
            row.0.insert("progress".to_owned(), column.into());
        }
        Ok(())
    }

    /// A text that changes with the rows of the turns up to an ordinal: a failed turn may be repeated, and a later turn
    /// closes open calls, puts waiting steers into the conversation, and has entries left out.
    fn version_of_rows(&self, session: &Session, turns: u64) -> Result<String> {
        let statement = "SELECT COUNT(*) || ' ' || IFNULL(SUM(attempts), 0) || ' ' || IFNULL(MAX(updated_at), 0)
             || ' ' || (SELECT COUNT(*) || ' ' || IFNULL(SUM(entry_state = 'withheld'), 0) || ' ' ||
                IFNULL(SUM(entry_state = 'forgotten'), 0) FROM conversation WHERE turn <= ?1) AS numbers
             FROM turns WHERE ordinal <= ?1";
        let numbers = self.database.text(statement, &[turns.into()], "numbers")?;
        Ok(format!("{} {}", session.open_calls.is_some(), numbers.unwrap_or_else(String::new)))
    }
}
