//! The documents that a scope permits (AGN-034 §4.4, interface §7), by the index over their properties.
//!
//! Each condition matches the documents of which a value fits. `!=` and `does_not_contain` forbid these documents,
//! so a document without the key satisfies them. Text is compared byte by byte. The work is counted by the longest
//! value that a document may have, so no text leaves the database.

use super::spans::Spans;
use super::tables::{Tables, spans};
use crate::contract::{Fault, RagCondition, RagOperator, json_text};
use crate::ports::{Database, SqlValue};
use crate::retrieval::work_budget::{Work, WorkBudget};

/// The most rows of the index that one statement passes.
const PAGE: usize = 2_000;

/// The work of one statement apart from its rows.
const STATEMENT_WORK: Work = Work::from_us(50);

/// The work of passing a row of the index.
const ROW_WORK: Work = Work::from_us(1);

/// Searching a value for a text takes at most this time for each byte of the text, and for as many more bytes as
/// [`EXTRA_BYTES`].
const BYTE_WORK: Work = Work::from_ns(50);
const EXTRA_BYTES: usize = 64;

/// The documents that a search may look into.
#[derive(Default)]
pub(crate) struct Selection {
    /// Only these, where some condition demands a value.
    pub(crate) within: Option<Spans>,
    /// Else all but these.
    pub(crate) without: Spans,
}

/// How a condition compares its values with those of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    Whole,
    Part,
}

/// What becomes of the documents that match.
#[derive(Clone, Copy)]
enum Effect {
    Demand,
    Forbid,
}

/// What an operator means.
fn meaning_of(operator: RagOperator) -> (Match, Effect) {
    match operator {
        RagOperator::Equal => (Match::Whole, Effect::Demand),
        RagOperator::NotEqual => (Match::Whole, Effect::Forbid),
        RagOperator::Contains => (Match::Part, Effect::Demand),
        RagOperator::DoesNotContain => (Match::Part, Effect::Forbid),
    }
}

impl Selection {
    /// The documents from chunk `floor` on for which all conditions hold.
    pub(crate) async fn of<D: Database, F: AsyncFn()>(
        tables: &Tables<D>,
        budget: &mut WorkBudget<F>,
        conditions: &[RagCondition],
        floor: u64,
    ) -> Result<Self, Fault> {
        let mut selection = Self::default();
        // Whole values are looked up in an index. They come first, since they may leave nothing to search.
        let (whole, part): (Vec<_>, Vec<_>) = conditions
            .iter()
            .map(|condition| (condition, meaning_of(condition.operator)))
            .partition(|(_, (matching, _))| *matching == Match::Whole);
        for (condition, (_, effect)) in whole {
            let matching = equal_to(tables, budget, condition, floor).await?;
            selection.apply(effect, matching);
        }
        for (condition, (_, effect)) in part {
            if selection.is_empty() {
                break;
            }
            let needles = Needles::of(condition)?;
            let matching = match (&selection.within, column(&condition.key)) {
                // One slice compares all documents that are left.
                (Some(within), Some(column)) if within.len() <= needles.rows => {
                    budget.spend(needles.work).await;
                    containing_among(tables, &needles, column, within)?
                }
                _ => containing(tables, budget, condition, &needles, floor).await?,
            };
            selection.apply(effect, matching);
        }
        Ok(selection)
    }

    /// Whether no document is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.within.as_ref().is_some_and(Spans::is_empty)
    }

    /// Removes documents from the selection.
    pub(crate) fn exclude(&mut self, spans: &Spans) {
        match &mut self.within {
            Some(within) => within.subtract(spans),
            None => self.without.unite(spans.clone()),
        }
    }

    fn apply(&mut self, effect: Effect, mut matching: Spans) {
        match effect {
            Effect::Forbid => self.exclude(&matching),
            Effect::Demand => match &mut self.within {
                Some(within) => within.intersect(&matching),
                None => {
                    matching.subtract(&self.without);
                    self.within = Some(matching);
                }
            },
        }
    }
}

/// The documents of which a value equals one of the condition's.
async fn equal_to<D: Database, F: AsyncFn()>(
    tables: &Tables<D>,
    budget: &mut WorkBudget<F>,
    condition: &RagCondition,
    floor: u64,
) -> Result<Spans, Fault> {
    let statement = "SELECT COUNT(*) AS passed, MAX(first_chunk) AS last,
            json_group_array(json_array(first_chunk, last_chunk)) AS matching
        FROM (SELECT first_chunk, last_chunk FROM properties
            WHERE key = ? AND value = ? AND first_chunk >= ? ORDER BY first_chunk LIMIT ?)";
    let mut matching = Vec::new();
    for value in &condition.values {
        let mut from = Some(floor);
        while let Some(first) = from {
            budget.spend(STATEMENT_WORK).await;
            let parameters: [SqlValue; 4] =
                [condition.key.as_str().into(), value.as_str().into(), first.into(), PAGE.into()];
            let row = tables.row(statement, &parameters)?;
            matching.append(&mut spans(&row, "matching")?);
            let passed: usize = row.get("passed")?;
            budget.spend(ROW_WORK.times(passed)).await;
            from = row.get::<Option<u64>>("last")?.filter(|_| passed == PAGE).map(|last| last + 1);
        }
    }
    Ok(Spans::of(matching))
}

/// The column of `documents` for a key of which each has one value.
fn column(key: &str) -> Option<&'static str> {
    match key {
        "Path" => Some("path"),
        "Language" => Some("language"),
        _ => None,
    }
}

/// The texts that a condition looks for.
struct Needles {
    /// A JSON array of them.
    json: String,
    /// The values that one slice searches for them, and the work of that.
    rows: usize,
    work: Work,
}

impl Needles {
    fn of(condition: &RagCondition) -> Result<Self, Fault> {
        let json = json_text("A scope", &condition.values)?;
        let bytes = condition.values.iter().map(|value| EXTRA_BYTES + value.len()).sum();
        let row = BYTE_WORK.times(bytes);
        let rows = row.times_per_slice().min(PAGE);
        Ok(Self { json, rows, work: STATEMENT_WORK + row.times(rows) })
    }
}

/// The documents among some whose path or language contains one of the texts.
fn containing_among<D: Database>(
    tables: &Tables<D>,
    needles: &Needles,
    column: &str,
    among: &Spans,
) -> Result<Spans, Fault> {
    let statement = format!(
        "WITH needles AS MATERIALIZED (SELECT value AS needle FROM json_each(?))
        SELECT json_group_array(json_array(d.first_chunk, d.first_chunk + d.chunks - 1)) AS matching
        FROM json_each(?) AS span CROSS JOIN chunks AS c ON c.id = span.value ->> 0
        CROSS JOIN documents AS d ON d.path = c.path
        WHERE EXISTS (SELECT 1 FROM needles WHERE instr(d.{column}, needle) > 0)"
    );
    let row = tables.row(&statement, &[needles.json.as_str().into(), among.json()?.into()])?;
    Ok(Spans::of(spans(&row, "matching")?))
}

/// The documents of which a value contains one of the condition's.
async fn containing<D: Database, F: AsyncFn()>(
    tables: &Tables<D>,
    budget: &mut WorkBudget<F>,
    condition: &RagCondition,
    needles: &Needles,
    floor: u64,
) -> Result<Spans, Fault> {
    let mut matching = Vec::new();
    // The row behind which the next page begins. No value is less than the empty one.
    let mut above: [SqlValue; 2] = ["".into(), SqlValue::Integer(-1)];
    loop {
        budget.spend(needles.work).await;
        let key = || SqlValue::from(condition.key.as_str());
        let [value, first] = above.clone();
        let end = tables.database.first(
            "SELECT value, first_chunk FROM properties
            WHERE key = ? AND (value, first_chunk) > (?, ?)
            ORDER BY value, first_chunk LIMIT 1 OFFSET ?",
            &[key(), value.clone(), first.clone(), (needles.rows - 1).into()],
        )?;
        let mut parameters = vec![needles.json.as_str().into(), key(), value, first, floor.into()];
        let mut page = "";
        if let Some(end) = &end {
            above = [end.get::<String>("value")?.into(), end.get::<u64>("first_chunk")?.into()];
            page = "AND (value, first_chunk) <= (?, ?)";
            parameters.extend(above.clone());
        }
        let statement = format!(
            "WITH needles AS MATERIALIZED (SELECT value AS needle FROM json_each(?))
            SELECT json_group_array(json_array(first_chunk, last_chunk)) AS matching FROM properties
            WHERE key = ? AND (value, first_chunk) > (?, ?) AND first_chunk >= ? {page}
                AND EXISTS (SELECT 1 FROM needles WHERE instr(value, needle) > 0)"
        );
        matching.append(&mut spans(&tables.row(&statement, &parameters)?, "matching")?);
        if end.is_none() {
            return Ok(Spans::of(matching));
        }
    }
}
