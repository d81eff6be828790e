//! The documents that a scope permits (AGN-034 §4.4, interface §7), by the index over their properties.
//!
//! Each condition selects the documents of which a value fits; `!=` and `does_not_contain` forbid these,
//! so that a document without the key satisfies them. Text is compared byte by byte. The work is counted
//! by the longest value that a document may have, so no text leaves the database.

use super::spans::Spans;
use super::tables::{Tables, spans};
use crate::contract::{Fault, RagCondition, RagOperator};
use crate::ports::{Database, Value};
use crate::retrieval::pace::{Pace, SLICE};

/// The most rows of the index that one statement passes.
const PAGE: usize = 2_000;

/// The work of one statement apart from its rows.
const STATEMENT_WORK: usize = 50;

/// Looking for a text in a value takes at most this many nanoseconds for each byte of it, and for as
/// many more as [`LEAST_BYTES`].
const BYTE_NS: usize = 50;
const LEAST_BYTES: usize = 64;

/// The documents that a search may look into.
#[derive(Default)]
pub(in crate::retrieval) struct Selection {
    /// Only these, where some condition demands a value.
    pub(in crate::retrieval) within: Option<Spans>,
    /// Else all but these.
    pub(in crate::retrieval) without: Spans,
}

impl Selection {
    /// The documents from chunk `floor` on for which all conditions hold.
    pub(in crate::retrieval) async fn of<D: Database, F: AsyncFn()>(
        tables: &Tables<D>,
        pace: &mut Pace<F>,
        conditions: &[RagCondition],
        floor: u64,
    ) -> Result<Self, Fault> {
        let mut selection = Self::default();
        // What is equal is found at once, so it comes first: it may leave nothing to look for.
        let (equal, containing): (Vec<_>, Vec<_>) = conditions.iter().partition(|condition| {
            matches!(condition.operator, RagOperator::Equal | RagOperator::NotEqual)
        });
        for condition in equal {
            let fitting = equal_to(tables, pace, condition, floor).await?;
            selection.apply(condition.operator, fitting);
        }
        for condition in containing {
            if selection.is_empty() {
                break;
            }
            let wanted = Wanted::of(condition)?;
            let fitting = match (&selection.within, column(&condition.key)) {
                // One slice compares all documents that are left.
                (Some(within), Some(column)) if within.len() <= wanted.rows => {
                    pace.before(wanted.work).await;
                    holding_among(tables, &wanted, column, within)?
                }
                _ => holding(tables, pace, condition, &wanted, floor).await?,
            };
            selection.apply(condition.operator, fitting);
        }
        Ok(selection)
    }

    /// Whether no document is left.
    pub(in crate::retrieval) fn is_empty(&self) -> bool {
        self.within.as_ref().is_some_and(Spans::is_empty)
    }

    pub(in crate::retrieval) fn leave_out(&mut self, spans: &Spans) {
        match &mut self.within {
            Some(within) => within.leave_out(spans),
            None => self.without.add(spans.clone()),
        }
    }

    fn apply(&mut self, operator: RagOperator, fitting: Spans) {
        match (operator, &mut self.within) {
            (RagOperator::NotEqual | RagOperator::DoesNotContain, _) => self.leave_out(&fitting),
            (_, Some(within)) => within.keep(&fitting),
            (_, within) => {
                let mut fitting = fitting;
                fitting.leave_out(&self.without);
                *within = Some(fitting);
            }
        }
    }
}

/// The documents of which a value equals one of the condition's.
async fn equal_to<D: Database, F: AsyncFn()>(
    tables: &Tables<D>,
    pace: &mut Pace<F>,
    condition: &RagCondition,
    floor: u64,
) -> Result<Spans, Fault> {
    let statement = "SELECT COUNT(*) AS passed, MAX(first_chunk) AS last,
            json_group_array(json_array(first_chunk, last_chunk)) AS fitting
        FROM (SELECT first_chunk, last_chunk FROM properties
            WHERE key = ? AND value = ? AND first_chunk >= ? ORDER BY first_chunk LIMIT ?)";
    let mut fitting = Vec::new();
    for value in &condition.values {
        let mut from = Some(floor);
        while let Some(first) = from {
            pace.before(STATEMENT_WORK).await;
            let parameters: [Value; 4] =
                [condition.key.as_str().into(), value.as_str().into(), first.into(), PAGE.into()];
            let row = tables.row(statement, &parameters)?;
            fitting.append(&mut spans(&row, "fitting")?);
            let passed: usize = row.get("passed")?;
            pace.before(passed).await;
            from = row.get::<Option<u64>>("last")?.filter(|_| passed == PAGE).map(|last| last + 1);
        }
    }
    Ok(Spans::of(fitting))
}

/// The column of `documents` for a key of which each has one value.
fn column(key: &str) -> Option<&'static str> {
    match key {
        "Path" => Some("path"),
        "Language" => Some("language"),
        _ => None,
    }
}

/// The texts of a condition.
struct Wanted {
    json: String,
    /// The values that one slice looks through for them, and the work of that.
    rows: usize,
    work: usize,
}

impl Wanted {
    fn of(condition: &RagCondition) -> Result<Self, Fault> {
        let json =
            serde_json::to_string(&condition.values).map_err(|_| Fault::unwritable("A scope"))?;
        let bytes = |value: &String| LEAST_BYTES + value.len();
        let row_ns = condition.values.iter().map(bytes).sum::<usize>() * BYTE_NS;
        let rows = (SLICE * 1_000 / row_ns.max(1)).clamp(1, PAGE);
        Ok(Self { json, rows, work: STATEMENT_WORK + rows * row_ns / 1_000 })
    }
}

/// Those of some documents whose path or language contains one of the texts.
fn holding_among<D: Database>(
    tables: &Tables<D>,
    wanted: &Wanted,
    column: &str,
    among: &Spans,
) -> Result<Spans, Fault> {
    let statement = format!(
        "WITH wanted AS MATERIALIZED (SELECT value AS part FROM json_each(?))
        SELECT json_group_array(json_array(d.first_chunk, d.first_chunk + d.chunks - 1)) AS fitting
        FROM json_each(?) AS span CROSS JOIN chunks AS c ON c.id = span.value ->> 0
        CROSS JOIN documents AS d ON d.path = c.path
        WHERE EXISTS (SELECT 1 FROM wanted WHERE instr(d.{column}, part) > 0)"
    );
    let row = tables.row(&statement, &[wanted.json.as_str().into(), among.json()?.into()])?;
    Ok(Spans::of(spans(&row, "fitting")?))
}

/// The documents of which a value contains one of the condition's.
async fn holding<D: Database, F: AsyncFn()>(
    tables: &Tables<D>,
    pace: &mut Pace<F>,
    condition: &RagCondition,
    wanted: &Wanted,
    floor: u64,
) -> Result<Spans, Fault> {
    let mut fitting = Vec::new();
    // The row behind which the next page begins. No value is less than the empty one.
    let mut above: [Value; 2] = ["".into(), Value::Integer(-1)];
    loop {
        pace.before(wanted.work).await;
        let key = || Value::from(condition.key.as_str());
        let [value, first] = above.clone();
        let end = tables.database.first(
            "SELECT value, first_chunk FROM properties
            WHERE key = ? AND (value, first_chunk) > (?, ?)
            ORDER BY value, first_chunk LIMIT 1 OFFSET ?",
            &[key(), value.clone(), first.clone(), (wanted.rows - 1).into()],
        )?;
        let mut parameters = vec![wanted.json.as_str().into(), key(), value, first, floor.into()];
        let mut page = "";
        if let Some(end) = &end {
            above = [end.get::<String>("value")?.into(), end.get::<u64>("first_chunk")?.into()];
            page = "AND (value, first_chunk) <= (?, ?)";
            parameters.extend(above.clone());
        }
        let statement = format!(
            "WITH wanted AS MATERIALIZED (SELECT value AS part FROM json_each(?))
            SELECT json_group_array(json_array(first_chunk, last_chunk)) AS fitting FROM properties
            WHERE key = ? AND (value, first_chunk) > (?, ?) AND first_chunk >= ? {page}
                AND EXISTS (SELECT 1 FROM wanted WHERE instr(value, part) > 0)"
        );
        fitting.append(&mut spans(&tables.row(&statement, &parameters)?, "fitting")?);
        if end.is_none() {
            return Ok(Spans::of(fitting));
        }
    }
}
