//! Long texts: kept once, by the hash of their content, or by the entry or the turn whose column they fill, in parts
//! that fit a row.
//!
//! The object's storage limits a row to 2 MB, so a column holds only a reference to a text above
//! [`INLINE_BYTES`].

use crate::contract::{Fault, Result};
use crate::encoding::sha256_hex;
use crate::ports::{Database, insert};

/// The longest text that stays in its column, in bytes: four such columns may share a row.
const INLINE_BYTES: usize = 450_000;

/// The longest part of a kept text, in bytes.
const PART_BYTES: usize = 500_000;

/// Begins a reference to a kept text. The columns that may hold one hold JSON, and no JSON text
/// begins with this.
const REFERENCE: char = '@';

/// SQL: the name of the kept text that the column `items` refers to, NULL when it holds the text itself. A
/// name has at most 64 characters, so that a long column is not read.
pub(super) const NAME_IN_ITEMS: &str =
    "CASE WHEN OCTET_LENGTH(items) <= 65 AND items LIKE '@%' THEN SUBSTR(items, 2) END";

/// Keeps a text and returns its hash. Keeping it again writes nothing.
pub(super) fn keep(database: &impl Database, text: &str) -> Result<String> {
    let hash = sha256_hex(text.as_bytes());
    keep_as(database, &hash, text)?;
    Ok(hash)
}

fn keep_as(database: &impl Database, name: &str, text: &str) -> Result<()> {
    for (number, part) in parts(text, PART_BYTES).enumerate() {
        insert!(database, "INSERT OR IGNORE INTO" texts { hash: name, part: number, text: part })?;
    }
    Ok(())
}

/// `internal`: a row refers to what is not kept.
pub(super) fn lost(what: &str) -> Fault {
    Fault::internal(format!("The session's storage lost {what}."))
}

/// The name of the kept text that a column refers to; `None` where the column holds the text itself.
pub(super) fn referred(column: &str) -> Option<&str> {
    column.strip_prefix(REFERENCE)
}

/// Reads a kept text.
pub(super) fn load(database: &impl Database, hash: &str) -> Result<String> {
    let newest = "SELECT part, text FROM texts WHERE hash = ? ORDER BY part DESC LIMIT 1";
    let last = database.first(newest, &[hash.into()])?.ok_or_else(|| lost("a text"))?;
    let (parts, end): (usize, String) = (last.get("part")?, last.get("text")?);
    if parts == 0 {
        return Ok(end);
    }
    // Part by part, so that a text on its way out of storage takes little more memory than its own.
    let mut text = String::with_capacity((parts + 1) * PART_BYTES);
    for number in 0..parts {
        let part = "SELECT text FROM texts WHERE hash = ? AND part = ?";
        let part = database.text(part, &[hash.into(), number.into()], "text")?;
        text.push_str(&part.ok_or_else(|| lost("a text"))?);
    }
    Ok(text + &end)
}

/// What a column holds for a JSON text: the text itself, or a reference when it is too long.
pub(super) fn to_column(database: &impl Database, json: &str) -> Result<String> {
    if json.len() <= INLINE_BYTES {
        return Ok(json.to_owned());
    }
    Ok(format!("{REFERENCE}{}", keep(database, json)?))
}

/// The same of the items of an entry, and of a column whose text others replace. A long one has its own name, no hash:
/// nothing else refers to it.
pub(super) fn to_own_column(
    database: &impl Database,
    what: &str,
    number: u64,
    json: &str,
) -> Result<String> {
    if json.len() <= INLINE_BYTES {
        return Ok(json.to_owned());
    }
    let name = format!("{what} {number}");
    database.execute("DELETE FROM texts WHERE hash = ?", &[name.as_str().into()])?;
    keep_as(database, &name, json)?;
    Ok(format!("{REFERENCE}{name}"))
}

/// The JSON text of which [`to_column`] or [`to_own_column`] made the column.
pub(super) fn from_column(database: &impl Database, column: String) -> Result<String> {
    match referred(&column) {
        Some(hash) => load(database, hash),
        None => Ok(column),
    }
}

/// Cuts a text into parts of at most `limit` bytes without splitting a character; one part, empty,
/// for the empty text.
fn parts(text: &str, limit: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.floor_char_boundary(limit);
        let (part, remaining) = text.split_at_checked(end)?;
        rest = (!remaining.is_empty()).then_some(remaining);
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_characters_whole_and_lose_nothing() {
        let text = "a😀é".repeat(10);
        for limit in 4..30 {
            let cut: Vec<&str> = parts(&text, limit).collect();
            assert_eq!(cut.concat(), text);
            assert!(cut.iter().all(|part| part.len() <= limit && !part.is_empty()));
        }
        assert_eq!(parts("", 4).collect::<Vec<_>>(), [""]);
    }
}
