//! The object that keeps the public keys at one address for all isolates (interface §13).
//!
//! It is the only place that asks a provider, at most once in [`RETRY_MS`], whatever came of the last attempt: neither
//! forged tokens nor a provider that fails or has no keys can make it ask more often.

use std::cell::{Cell, RefCell};

use futures_util::lock::Mutex;
use serde_json::json;
use serde_json::value::RawValue;

use super::key_set::{KeySet, NoKeySet, UnusableKey};
use super::key_set_reply::{KeyQuestion, KeySetReply, jwks_failed};
use crate::contract::{Fault, Result, json_text};
use crate::outbound::{ServiceFailure, fetch_document};
use crate::ports::{Database, Platform, insert, read_row};

/// The least time between two attempts, in milliseconds.
const RETRY_MS: u64 = 30_000;

/// How long a provider may take for its answer, in milliseconds, and the longest answer, in bytes.
const TIMEOUT_MS: u64 = 5_000;
const LONGEST_BYTES: usize = 256 * 1024;

/// How long a set is fresh, in milliseconds: where its provider says nothing, and the least and the most that counts.
const FRESH_MS: u64 = 10 * 60 * 1000;
const LEAST_FRESH_MS: u64 = 5 * 60 * 1000;
const MOST_FRESH_MS: u64 = 24 * 60 * 60 * 1000;

/// The most unusable keys of a set that are logged.
const MOST_LOGGED: usize = 10;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS keys (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    fetched_at INTEGER,
    attempted_at INTEGER NOT NULL,
    fresh_until INTEGER NOT NULL,
    key_set TEXT
)";

/// The object that keeps the keys at one address.
pub struct KeySetHost<D> {
    database: D,
    is_read: Cell<bool>,
    known: RefCell<FetchedKeys>,
    /// Held during a request to the provider: all that need its answer wait for the same one.
    turn: Mutex<()>,
}

/// What is known of the address. Times are milliseconds since the Unix epoch.
#[derive(Clone, Debug, Default)]
struct FetchedKeys {
    /// When the set came; it is the set's version, too.
    fetched_at: Option<u64>,
    /// When the provider was last asked, whatever came of it.
    attempted_at: Option<u64>,
    fresh_until: u64,
    /// A document that [`KeySet::read`] reads.
    key_set: Option<Box<RawValue>>,
}

/// Why a provider's keys were not renewed.
#[derive(Debug, thiserror::Error)]
enum KeysFailure {
    #[error("{0}")]
    Service(#[from] ServiceFailure),
    #[error("{0}")]
    Document(#[from] NoKeySet),
}

impl<D: Database> KeySetHost<D> {
    /// A keeper over its object's storage. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        Self {
            database,
            is_read: Cell::default(),
            known: RefCell::default(),
            turn: Mutex::default(),
        }
    }

    /// The reply to a [`KeyQuestion`] as JSON: a [`KeySetReply`], or no text when the storage fails. After a failure of
    /// the provider the last set serves for `stale_ms` more.
    pub async fn reply<P: Platform>(&self, platform: &P, stale_ms: u64, question: &str) -> String {
        let Ok(question) = serde_json::from_str::<KeyQuestion>(question) else {
            return String::new();
        };
        let reply = self.keys(platform, stale_ms, &question).await;
        let text = reply.and_then(|reply| json_text("A set of keys", &reply));
        text.unwrap_or_else(|fault| {
            platform.log(jwks_failed(&question.issuer, &fault.message, 0));
            String::new()
        })
    }

    /// The keys.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub async fn keys<P: Platform>(
        &self,
        platform: &P,
        stale_ms: u64,
        question: &KeyQuestion,
    ) -> Result<KeySetReply> {
        self.read()?;
        if self.known.borrow().is_wanting(question, platform.now_ms()) {
            let _turn = self.turn.lock().await;
            // The one before may have brought what is wanting.
            let is_due = {
                let (known, now) = (self.known.borrow(), platform.now_ms());
                known.is_wanting(question, now) && known.asks_again_ms(now) == 0
            };
            if is_due {
                self.ask(platform, stale_ms, question).await?;
            }
        }
        Ok(self.known.borrow().reply(stale_ms, platform.now_ms()))
    }

    /// Asks the provider.
    async fn ask<P: Platform>(
        &self,
        platform: &P,
        stale_ms: u64,
        question: &KeyQuestion,
    ) -> Result<()> {
        // The time is claimed first, so that an instance that ends meanwhile does not ask anew.
        self.known.borrow_mut().attempted_at = Some(platform.now_ms());
        self.write()?;
        match fetch(platform, &question.jwks_url).await {
            Ok((set, unusable, fresh_ms)) => {
                for UnusableKey { place, reason } in unusable.into_iter().take(MOST_LOGGED) {
                    platform.log(json!({
                        "event": "jwks_key_unusable", "level": "warn", "provider": question.issuer,
                        "place": place, "why": reason,
                    }));
                }
                let key_set = RawValue::from_string(set.to_json())
                    .map_err(|_| Fault::unwritable("A set of keys"))?;
                let now = platform.now_ms();
                {
                    let mut known = self.known.borrow_mut();
                    known.fetched_at = Some(now);
                    known.fresh_until = now + fresh_ms;
                    known.key_set = Some(key_set);
                }
                self.write()
            }
            Err(failure) => {
                let serves_ms = self.known.borrow().serves_ms(stale_ms, platform.now_ms());
                platform.log(jwks_failed(&question.issuer, &failure.to_string(), serves_ms));
                Ok(())
            }
        }
    }

    /// Reads the row, once in the life of an instance.
    fn read(&self) -> Result<()> {
        if self.is_read.get() {
            return Ok(());
        }
        self.database.execute(TABLE, &[])?;
        let statement = "SELECT fetched_at, attempted_at, fresh_until, key_set FROM keys";
        if let Some(row) = self.database.first(statement, &[])? {
            self.known.replace(read_row!(FetchedKeys of row {
                fetched_at, attempted_at, fresh_until,
                key_set: row.json("key_set")?,
            }));
        }
        self.is_read.set(true);
        Ok(())
    }

    fn write(&self) -> Result<()> {
        let known = self.known.borrow();
        insert!(self.database, "REPLACE INTO" keys (id = 1) {
            fetched_at: known.fetched_at,
            attempted_at: known.attempted_at,
            fresh_until: known.fresh_until,
            key_set: known.key_set.as_ref().map(|set| set.get()),
        })
    }
}

impl FetchedKeys {
    /// Whether the question needs newer keys.
    fn is_wanting(&self, question: &KeyQuestion, now: u64) -> bool {
        let lacks = question.lacking.is_some() && question.lacking == self.fetched_at;
        lacks || self.fresh_ms(now) == 0
    }

    /// For how long the set is fresh. A clock that was set back makes none last longer.
    fn fresh_ms(&self, now: u64) -> u64 {
        match self.fetched_at {
            Some(fetched_at) if fetched_at <= now => self.fresh_until.saturating_sub(now),
            _ => 0,
        }
    }

    /// For how long the set may serve while the provider fails.
    fn serves_ms(&self, stale_ms: u64, now: u64) -> u64 {
        match self.fetched_at {
            Some(_) => self.fresh_until.saturating_add(stale_ms).saturating_sub(now),
            None => 0,
        }
    }

    /// When the provider may be asked again. Where the clock was set back, the last attempt does not count.
    fn asks_again_ms(&self, now: u64) -> u64 {
        let since = self.attempted_at.map_or(RETRY_MS, |at| now.abs_diff(at));
        RETRY_MS.saturating_sub(since)
    }

    fn reply(&self, stale_ms: u64, now: u64) -> KeySetReply {
        let (fresh_ms, serves_ms) = (self.fresh_ms(now), self.serves_ms(stale_ms, now));
        let asks_again_ms = self.asks_again_ms(now);
        KeySetReply {
            version: self.fetched_at,
            fresh_ms: match (fresh_ms, serves_ms) {
                (0, 0) => asks_again_ms,
                (0, serves_ms) => asks_again_ms.min(serves_ms),
                (fresh_ms, _) => fresh_ms,
            },
            serves_ms,
            asks_again_ms,
            keys: self.key_set.clone().filter(|_| serves_ms > 0),
        }
    }
}

/// The keys at an address, and for how long they are fresh, in milliseconds.
async fn fetch<P: Platform>(
    platform: &P,
    url: &str,
) -> Result<(KeySet, Vec<UnusableKey>, u64), KeysFailure> {
    let document =
        fetch_document(platform, url, TIMEOUT_MS, LONGEST_BYTES, &["cache-control"]).await?;
    let (set, unusable) = KeySet::read(document.body)?;
    let caching = document.headers.iter().find(|(name, _)| name == "cache-control");
    let fresh_ms = caching.and_then(|(_, value)| max_age_ms(value)).unwrap_or(FRESH_MS);
    Ok((set, unusable, fresh_ms.clamp(LEAST_FRESH_MS, MOST_FRESH_MS)))
}

/// The `max-age` of a header `Cache-Control` (RFC 9111, section 5.2), in milliseconds.
fn max_age_ms(caching: &str) -> Option<u64> {
    let mut directives = caching.split(',').filter_map(|directive| directive.split_once('='));
    let (_, seconds) = directives.find(|(name, _)| name.trim().eq_ignore_ascii_case("max-age"))?;
    let seconds = seconds.trim().trim_matches('"');
    let is_number = !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit());
    // A number beyond the type is the longest time that counts.
    is_number.then(|| seconds.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(1000))
}
