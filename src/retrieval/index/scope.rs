//! The documents that a scope permits (AGN-034 §4.4, interface §7), by the index over their properties.
//!
//! Each condition matches the documents of which a value fits. `!=` and `does_not_contain` forbid these documents,
//! so a document without the key satisfies them. Text is compared byte by byte. The work is counted by the longest
//! value that a document may have, so no text leaves the database.

use super::spans::Spans;
use super::tables::{Tables, spans};
use crate::contract::{RagCondition, RagOperator, Result, json_text, limits};
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

/// All values of a document's properties together are at most as long as so many of the longest.
const PROPERTY_ROWS: usize = limits::PROPERTY_BYTES / limits::PROPERTY_TEXT;

/// Whether an operator looks for a part of a value, not for the whole.
fn is_of_parts(operator: RagOperator) -> bool {
    match operator {
        RagOperator::Equal | RagOperator::NotEqual => false,
        RagOperator::Contains | RagOperator::DoesNotContain => true,
    }
}

/// Whether an operator forbids the documents that match, rather than demanding them.
fn forbids(operator: RagOperator) -> bool {
    match operator {
        RagOperator::Equal | RagOperator::Contains => false,
        RagOperator::NotEqual | RagOperator::DoesNotContain => true,
    }
}

impl Selection {
    /// The documents from chunk `floor` up to `end` for which all conditions hold.
    pub(crate) async fn of<D: Database, F: AsyncFn()>(
        tables: &Tables<D>,
        budget: &mut WorkBudget<F>,
        conditions: &[RagCondition],
        [floor, end]: [u64; 2],
    ) -> Result<Self> {
        let mut selection = Self::default();
        if floor > 0 && !conditions.is_empty() {
            // A search that goes on is about the documents that have come meanwhile. If it read the whole index again, more
            // would come meanwhile, and so on.
            selection.within = Some(documents_between(tables, budget, floor, end).await?);
        }
        // Whole values are looked up in an index. They come first, since they may leave nothing to search.
        let mut ordered: Vec<_> = conditions.iter().collect();
        ordered.sort_by_key(|condition| is_of_parts(condition.operator));
        for condition in ordered {
            if selection.is_empty() {
                break;
            }
            let needles = Needles::of(condition)?;
            // Those that are left are compared by themselves where one slice has room for all, and where a search goes on.
            let are_compared = |within: &&Spans| {
                floor > 0 || within.len() <= needles.documents_of_a_slice(&condition.key)
            };
            let matching = match selection.within.as_ref().filter(are_compared) {
                Some(within) => matching_among(tables, budget, &needles, condition, within).await?,
                None if is_of_parts(condition.operator) => {
                    containing(tables, budget, condition, &needles, floor).await?
                }
                None => equal_to(tables, budget, condition, floor).await?,
            };
            selection.apply(condition.operator, matching);
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

    fn apply(&mut self, operator: RagOperator, mut matching: Spans) {
        match forbids(operator) {
            true => self.exclude(&matching),
            false => match &mut self.within {
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
) -> Result<Spans> {
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

/// The documents whose chunks begin at `floor` or later, and before `end`.
async fn documents_between<D: Database, F: AsyncFn()>(
    tables: &Tables<D>,
    budget: &mut WorkBudget<F>,
    floor: u64,
    end: u64,
) -> Result<Spans> {
    let statement =
        "SELECT json_group_array(json_array(d.first_chunk, d.first_chunk + d.chunks - 1)) AS found
        FROM chunks AS c CROSS JOIN documents AS d ON d.path = c.path
        WHERE c.id >= ? AND c.id < ? AND d.first_chunk = c.id";
    let (mut found, mut from) = (Vec::new(), floor);
    while from < end {
        let to = end.min(from + PAGE as u64);
        budget.spend(STATEMENT_WORK + ROW_WORK.times((to - from) as usize)).await;
        found.append(&mut spans(&tables.row(statement, &[from.into(), to.into()])?, "found")?);
        from = to;
    }
    Ok(Spans::of(found))
}

/// The texts that a condition looks for.
struct Needles {
    /// A JSON array of them.
    json: String,
    /// The values that one slice searches for them.
    rows: usize,
    /// The work of searching one value.
    row_work: Work,
}

impl Needles {
    fn of(condition: &RagCondition) -> Result<Self> {
        let json = json_text("A scope", &condition.values)?;
        let bytes = condition.values.iter().map(|value| EXTRA_BYTES + value.len()).sum();
        let row_work = BYTE_WORK.times(bytes);
        Ok(Self { json, rows: row_work.times_per_slice().min(PAGE), row_work })
    }

    /// The work of searching as many values.
    fn work(&self, rows: usize) -> Work {
        STATEMENT_WORK + self.row_work.times(rows)
    }

    /// The documents that one slice compares by a key, at least one.
    fn documents_of_a_slice(&self, key: &str) -> usize {
        (self.rows / rows_of_one(key)).max(1)
    }
}

/// The values of one document that are compared by a key, in values of the longest.
fn rows_of_one(key: &str) -> usize {
    if column(key).is_some() { 1 } else { PROPERTY_ROWS }
}

/// The column of `documents` for a key of which each has one value.
fn column(key: &str) -> Option<&'static str> {
    match key {
        "Path" => Some("d.path"),
        "Language" => Some("d.language"),
        _ => None,
    }
}

/// The documents among some of which a value fits the condition.
async fn matching_among<D: Database, F: AsyncFn()>(
    tables: &Tables<D>,
    budget: &mut WorkBudget<F>,
    needles: &Needles,
    condition: &RagCondition,
    among: &Spans,
) -> Result<Spans> {
    let fits = |value: &str| match is_of_parts(condition.operator) {
        false => format!("{value} = needle"),
        true => format!("instr({value}, needle) > 0"),
    };
    let of_document = match column(&condition.key) {
        Some(column) => format!("needles WHERE {}", fits(column)),
        None => {
            let values = "json_each(d.properties) AS p CROSS JOIN json_each(p.value, '$[1]') AS v";
            format!("{values} CROSS JOIN needles WHERE p.value ->> 0 = ?3 AND {}", fits("v.value"))
        }
    };
    let statement = format!(
        "WITH needles AS MATERIALIZED (SELECT value AS needle FROM json_each(?1))
        SELECT json_group_array(json_array(d.first_chunk, d.first_chunk + d.chunks - 1)) AS matching
        FROM json_each(?2) AS span CROSS JOIN chunks AS c ON c.id = span.value ->> 0
        CROSS JOIN documents AS d ON d.path = c.path
        WHERE EXISTS (SELECT 1 FROM {of_document})"
    );
    let mut matching = Vec::new();
    for some in among.pieces(needles.documents_of_a_slice(&condition.key)) {
        budget.spend(needles.work(some.len() * rows_of_one(&condition.key))).await;
        let mut parameters: Vec<SqlValue> =
            vec![needles.json.as_str().into(), json_text("A scope", &some)?.into()];
        if column(&condition.key).is_none() {
            parameters.push(condition.key.as_str().into());
        }
        matching.append(&mut spans(&tables.row(&statement, &parameters)?, "matching")?);
    }
    Ok(Spans::of(matching))
}

/// Those of some spans that are documents now.
pub(crate) fn documents_among<D: Database>(tables: &Tables<D>, among: &Spans) -> Result<Spans> {
    let row = tables.row(
        "SELECT json_group_array(json_array(d.first_chunk, d.first_chunk + d.chunks - 1)) AS found
        FROM json_each(?) AS span CROSS JOIN chunks AS c ON c.id = span.value ->> 0
        CROSS JOIN documents AS d ON d.path = c.path AND d.first_chunk = c.id",
        &[among.json()?.into()],
    )?;
    Ok(Spans::of(spans(&row, "found")?))
}

/// The documents of which a value contains one of the condition's.
async fn containing<D: Database, F: AsyncFn()>(
    tables: &Tables<D>,
    budget: &mut WorkBudget<F>,
    condition: &RagCondition,
    needles: &Needles,
    floor: u64,
) -> Result<Spans> {
    let mut matching = Vec::new();
    // The row behind which the next page begins. No value is less than the empty one.
    let mut above: [SqlValue; 2] = ["".into(), SqlValue::Integer(-1)];
    loop {
        budget.spend(needles.work(needles.rows)).await;
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
