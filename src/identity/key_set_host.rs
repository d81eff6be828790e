//! The object that keeps the public keys at one address for all isolates (interface §13).
//!
//! It is the only place that asks a provider, at most once in [`RETRY_MS`], whatever came of the last attempt: neither
//! forged tokens nor a provider that fails or has no keys can make it ask more often.

use std::error::Error;

use serde_json::json;
use serde_json::value::RawValue;

use super::key_set::{KeySet, UnusableKey};
use super::key_set_reply::{KeyQuestion, KeySetReply, jwks_failed};
use crate::contract::{Fault, Result, json_text};
use crate::object::{DocumentKeeper, FetchedDocument, KeptDocument};
use crate::outbound::fetch_document;
use crate::ports::{Database, Platform};

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

/// The object that keeps the keys at one address.
pub struct KeySetHost<D> {
    /// The document is one that [`KeySet::read`] reads.
    keeper: DocumentKeeper<D>,
}

impl<D: Database> KeySetHost<D> {
    /// A host over its object's storage. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        Self { keeper: DocumentKeeper::new(database, RETRY_MS) }
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
        let lacks = |known: &KeptDocument| {
            question.lacking.is_some() && question.lacking == known.fetched_at
        };
        let ask = async || self.ask(platform, stale_ms, question).await;
        let known = self.keeper.document(platform, &question.jwks_url, true, lacks, ask).await?;
        let now = platform.now_ms();
        let (fresh_ms, serves_ms) = (known.fresh_ms(now), serves_ms(&known, stale_ms, now));
        let asks_again_ms = self.keeper.asks_again_ms(now);
        Ok(KeySetReply {
            version: known.fetched_at,
            fresh_ms: match (fresh_ms, serves_ms) {
                (0, 0) => asks_again_ms,
                (0, serves_ms) => asks_again_ms.min(serves_ms),
                (fresh_ms, _) => fresh_ms,
            },
            serves_ms,
            // Whoever lacks a key that the provider is being asked for waits for the same answer.
            asks_again_ms: if self.keeper.is_asking() { 0 } else { asks_again_ms },
            keys: known.document.filter(|_| serves_ms > 0),
        })
    }

    /// Asks the provider.
    async fn ask<P: Platform>(
        &self,
        platform: &P,
        stale_ms: u64,
        question: &KeyQuestion,
    ) -> Result<Option<FetchedDocument>> {
        self.keeper.claim(platform.now_ms())?;
        let (set, unusable, fresh_ms) = match fetch(platform, &question.jwks_url).await {
            Ok(fetched) => fetched,
            Err(failure) => {
                let serves_ms = serves_ms(&self.keeper.known(), stale_ms, platform.now_ms());
                platform.log(jwks_failed(&question.issuer, &failure.to_string(), serves_ms));
                return Ok(None);
            }
        };
        for UnusableKey { place, reason } in unusable.into_iter().take(MOST_LOGGED) {
            platform.log(json!({
                "event": "jwks_key_unusable", "level": "warn", "provider": question.issuer,
                "place": place, "why": reason,
            }));
        }
        let document =
            RawValue::from_string(set.to_json()).map_err(|_| Fault::unwritable("A set of keys"))?;
        Ok(Some(FetchedDocument { document, fresh_ms }))
    }
}

/// For how long keys may serve while the provider fails, in milliseconds.
fn serves_ms(known: &KeptDocument, stale_ms: u64, now: u64) -> u64 {
    match known.fetched_at {
        Some(_) => known.fresh_until.saturating_add(stale_ms).saturating_sub(now),
        None => 0,
    }
}

/// The keys at an address, and for how long they are fresh, in milliseconds.
async fn fetch<P: Platform>(
    platform: &P,
    url: &str,
) -> Result<(KeySet, Vec<UnusableKey>, u64), Box<dyn Error>> {
    let document =
        fetch_document(platform, url, TIMEOUT_MS, LONGEST_BYTES, &["cache-control"]).await?;
    let fresh_ms = document.header("cache-control").and_then(max_age_ms).unwrap_or(FRESH_MS);
    let (set, unusable) = KeySet::read(document.body)?;
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
