//! A document of somebody else's, kept for all that need it: the tools of an MCP server, the public keys of a provider.
//!
//! Whoever needs it asks the object that keeps it, and that object alone asks the source: one request at a time, none
//! while the document is fresh, and none right after one that failed.

use std::cell::{Ref, RefCell};

use futures_util::lock::Mutex;
use serde_json::value::RawValue;

use crate::contract::Result;
use crate::ports::{Database, Machine, insert, read_row};

/// The longest document that is stored, in bytes: a row has at most 2 MB. A longer one is only in memory, and requested
/// again by another instance.
const STORED_BYTES: usize = 1_900_000;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS kept_document (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    source TEXT NOT NULL,
    fetched_at INTEGER,
    attempted_at INTEGER,
    fresh_until INTEGER NOT NULL,
    document TEXT
)";

/// The tables of versions up to 0.2.0, of which nothing is needed: what they held is asked for again.
const EARLIER: [&str; 2] = ["DROP TABLE IF EXISTS tool_list", "DROP TABLE IF EXISTS keys"];

/// What keeps the one document of an object.
pub struct DocumentKeeper<D> {
    database: D,
    /// The time between two attempts where the first one failed or was claimed, in milliseconds.
    retry_ms: u64,
    known: RefCell<KeptDocument>,
    /// Held during a request to the source: all that need its answer wait for the same one.
    asking: Mutex<()>,
}

/// What is known of a document. Times are milliseconds since the Unix epoch.
#[derive(Clone, Debug, Default)]
pub struct KeptDocument {
    /// Where it is from; empty at first.
    source: String,
    /// When it came; it is the document's version, too.
    pub fetched_at: Option<u64>,
    attempted_at: Option<u64>,
    pub fresh_until: u64,
    pub document: Option<Box<RawValue>>,
}

/// A document as its source gave it.
pub struct FetchedDocument {
    pub document: Box<RawValue>,
    /// For how long it is fresh, in milliseconds.
    pub fresh_ms: u64,
}

impl<D: Database> DocumentKeeper<D> {
    /// A keeper over its object's storage. Nothing is read or written yet.
    pub fn new(database: D, retry_ms: u64) -> Self {
        Self { database, retry_ms, known: RefCell::default(), asking: Mutex::default() }
    }

    /// The document of a source. `may_store`: whether it may outlive the instance. `lacks`: whether a newer one is needed
    /// although this one is fresh. `fetch` asks the source; it has no document after a failure, which it logs itself.
    ///
    /// # Errors
    /// `internal` when the storage fails, and those of `fetch`.
    pub async fn document(
        &self,
        machine: &impl Machine,
        source: &str,
        may_store: bool,
        lacks: impl Fn(&KeptDocument) -> bool,
        fetch: impl AsyncFnOnce() -> Result<Option<FetchedDocument>>,
    ) -> Result<KeptDocument> {
        let serves = |known: &KeptDocument| {
            known.source == source && known.fresh_ms(machine.now_ms()) > 0 && !lacks(known)
        };
        if !serves(&self.known()) {
            let _asking = self.asking.lock().await;
            // The one before may have brought what is wanting.
            self.read(source, may_store)?;
            if !serves(&self.known()) && self.asks_again_ms(machine.now_ms()) == 0 {
                let fetched = fetch().await?;
                self.take(fetched, machine.now_ms(), may_store)?;
            }
        }
        Ok(self.known().clone())
    }

    /// What is known at this moment.
    pub fn known(&self) -> Ref<'_, KeptDocument> {
        self.known.borrow()
    }

    /// In how many milliseconds the source may be asked again. Where the clock was set back, the last attempt does not
    /// count.
    pub fn asks_again_ms(&self, now: u64) -> u64 {
        let since = self.known().attempted_at.map_or(self.retry_ms, |at| now.abs_diff(at));
        self.retry_ms.saturating_sub(since)
    }

    /// Whether the source is being asked.
    pub fn is_asking(&self) -> bool {
        self.asking.try_lock().is_none()
    }

    /// Claims an attempt before it is made, so that an instance that ends meanwhile does not ask anew.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub fn claim(&self, now: u64) -> Result<()> {
        self.known.borrow_mut().attempted_at = Some(now);
        self.write()
    }

    /// Takes over what is stored of a source, unless that is the known one.
    fn read(&self, source: &str, may_store: bool) -> Result<()> {
        if self.known().source == source {
            return Ok(());
        }
        let mut known = KeptDocument { source: source.to_owned(), ..KeptDocument::default() };
        if may_store {
            for statement in EARLIER.into_iter().chain([TABLE]) {
                self.database.execute(statement, &[])?;
            }
            let statement = "SELECT source, fetched_at, attempted_at, fresh_until, document
                             FROM kept_document WHERE source = ?";
            if let Some(row) = self.database.first(statement, &[source.into()])? {
                known = read_row!(KeptDocument of row {
                    source, fetched_at, attempted_at, fresh_until,
                    document: row.json("document")?,
                });
            }
        }
        self.known.replace(known);
        Ok(())
    }

    fn take(&self, fetched: Option<FetchedDocument>, now: u64, may_store: bool) -> Result<()> {
        let mut known = self.known.borrow_mut();
        let Some(FetchedDocument { document, fresh_ms }) = fetched else {
            known.attempted_at = Some(now);
            return Ok(());
        };
        known.fetched_at = Some(now);
        known.fresh_until = now.saturating_add(fresh_ms);
        known.document = Some(document);
        drop(known);
        if may_store { self.write() } else { Ok(()) }
    }

    fn write(&self) -> Result<()> {
        let known = self.known();
        let document = known.document.as_ref().map(|document| document.get());
        let document = document.filter(|document| document.len() <= STORED_BYTES);
        insert!(self.database, "REPLACE INTO" kept_document (id = 1) {
            source: known.source.as_str(),
            fetched_at: known.fetched_at.filter(|_| document.is_some()),
            attempted_at: known.attempted_at,
            fresh_until: known.fresh_until,
            document,
        })
    }
}

impl KeptDocument {
    /// For how long it is fresh, in milliseconds. A clock that was set back makes none last longer.
    pub fn fresh_ms(&self, now: u64) -> u64 {
        match self.fetched_at {
            Some(fetched_at) if fetched_at <= now => self.fresh_until.saturating_sub(now),
            _ => 0,
        }
    }
}
