//! The comparison of a client's list of documents with the index: the client then sends the documents that changed.
//!
//! List and index are read side by side in the order of paths, so the work is that of reading the index once.
//! Nothing is written.

use serde::Serialize;

use super::tables::Tables;
use super::writing::RULES;
use crate::contract::{ListedDocuments, Result, limits};
use crate::ports::Database;
use crate::retrieval::work_budget::{Work, WorkBudget};

/// The documents that one statement reads.
const PAGE: usize = 128;

/// The work of reading a document's row, which may be long, and of comparing it.
const DOCUMENT_WORK: Work = Work::from_us(40);

/// The most bytes of paths that are listed as extra: the number of documents in an index is unlimited.
const EXTRA_BYTES: usize = 4 << 20;

/// The differences between a client's list and the index, each in the order of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Comparison<'l> {
    /// The listed documents to send: the index has no such path, or other contents there.
    pub needed: Vec<&'l str>,
    /// The paths in the index that are not listed.
    pub extra: Vec<String>,
    /// Whether there are more extra documents than `extra` lists.
    #[serde(skip)]
    pub more_extra: bool,
}

/// Compares the list with the index, document by document as each is at that moment.
pub(crate) async fn compare<'l, D: Database, F: AsyncFn()>(
    tables: &Tables<D>,
    budget: &mut WorkBudget<F>,
    listed: &'l ListedDocuments,
) -> Result<Comparison<'l>> {
    let mut comparison = Comparison::default();
    let mut listed = listed.iter().map(|(path, sha256)| (path.as_str(), sha256)).peekable();
    let mut above = Some(String::new());
    let mut room = EXTRA_BYTES;
    while let Some(path) = above {
        budget.spend(DOCUMENT_WORK.times(PAGE)).await;
        if !tables.exist()? {
            break;
        }
        // A document cut by older rules is needed again.
        let rows = tables.database.query(
            "SELECT path, IIF(rules = ?, sha256, '') AS sha256 FROM documents
            WHERE path > ? ORDER BY path LIMIT ?",
            &[RULES.into(), path.into(), PAGE.into()],
        )?;
        let is_page = rows.len() == PAGE;
        above = None;
        for row in &rows {
            let (path, sha256): (String, String) = (row.get("path")?, row.get("sha256")?);
            while let Some((needed, _)) = listed.next_if(|(listed, _)| *listed < path.as_str()) {
                comparison.needed.push(needed);
            }
            match listed.next_if(|(listed, _)| *listed == path) {
                Some((needed, known)) if *known != sha256 => comparison.needed.push(needed),
                Some(_) => {}
                None if comparison.extra.len() < limits::COMPARED_DOCUMENTS
                    && path.len() <= room =>
                {
                    room -= path.len();
                    comparison.extra.push(path.clone());
                }
                None => (comparison.more_extra, room) = (true, 0),
            }
            above = Some(path);
        }
        let is_done = comparison.more_extra && listed.peek().is_none();
        above = above.filter(|_| is_page && !is_done);
    }
    comparison.needed.extend(listed.map(|(path, _)| path));
    Ok(comparison)
}
