//! The forms of the report: a line of names, a table.

use aptix_edge::encoding::disturbs_a_line;

/// The most names on a line.
const NAMES_SHOWN: usize = 12;

/// `  kind (count): names`, cut so that it stays a line or two.
pub(crate) fn line<'n>(kind: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown: Vec<&str> = names.iter().copied().take(NAMES_SHOWN).collect();
    let rest = names.len().saturating_sub(NAMES_SHOWN);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let colon = if names.is_empty() { "" } else { ": " };
    format!("  {kind} ({}){colon}{}{more}\n", names.len(), shown.join(", "))
}

/// What the services of one kind came to.
#[derive(Default)]
pub(crate) struct Findings {
    /// One row for each thing that was asked; none where the catalog names nothing of the kind.
    pub(crate) rows: Vec<Vec<String>>,
    /// What is worth knowing, a line each.
    pub(crate) notes: Vec<String>,
    /// What the catalog has to say otherwise, or what is wrong with a service, a line each.
    pub(crate) advice: Vec<String>,
}

/// Rows whose columns stand below each other, under these heads; nothing without rows.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&heads).chain(rows).collect();
    let width = |column: usize| {
        all.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..heads.len()).map(|column| width(column).unwrap_or(0)).collect();
    let written = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    all.into_iter().map(written).collect()
}

/// A report for a terminal, in which names and words of services move no cursor and turn no text.
pub(crate) fn seen(report: &str) -> String {
    let shown =
        |c: char| if c != '\n' && disturbs_a_line(c) { char::REPLACEMENT_CHARACTER } else { c };
    report.chars().map(shown).collect()
}
