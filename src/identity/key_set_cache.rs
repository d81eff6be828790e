//! An isolate's cache of providers' keys, in front of their keepers: while the keys are fresh, a token of a known key
//! costs no request, and a flood of tokens with forged ones costs none either, but one each time that the keeper would
//! ask anew (interface §13).

use std::cell::RefCell;
use std::rc::Rc;

use super::jose::Header;
use super::key_set::{Choice, KeySet};
use super::key_set_reply::{KeyQuestion, KeySetReply, jwks_failed};
use super::providers::Provider;
use super::refusal::Refusal;
use crate::encoding::sha256_hex;
use crate::object::ask_in_time;
use crate::ports::{Gateway, PublicKey};

/// How long a request waits for a keeper, in milliseconds: longer than the keeper waits for the provider.
const WAIT_MS: u64 = 8_000;

/// The time before a keeper that failed is asked again, in milliseconds.
const RETRY_MS: u64 = 2_000;

/// The most questions for one token: for a first set, for a newer one of the keeper's, and for the provider's newest.
const MOST_QUESTIONS: usize = 3;

/// The known keys by their address.
#[derive(Debug, Default)]
pub struct KeySetCache(RefCell<Vec<(String, CachedKeys)>>);

/// What a keeper said. Times are milliseconds since the Unix epoch by this isolate's clock.
#[derive(Clone, Debug, Default)]
struct CachedKeys {
    version: Option<u64>,
    /// `None` where the keeper has no keys.
    keys: Option<Rc<KeySet>>,
    said_at: u64,
    fresh_until: u64,
    serves_until: u64,
    /// From when on the keeper would ask the provider for a key that the set lacks.
    asks_again_at: u64,
}

impl KeySetCache {
    /// The key of a token's signature.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] where the provider has no such key, [`Refusal::Unavailable`] where its keys cannot be had.
    pub async fn key<G: Gateway>(
        &self,
        gateway: &G,
        provider: &Provider,
        header: &Header,
    ) -> Result<PublicKey, Refusal> {
        let fresh = self.known(provider).filter(|known| known.is_fresh(gateway.now_ms()));
        let mut known = match fresh {
            Some(fresh) => fresh,
            None => self.ask(gateway, provider, None).await,
        };
        for _ in 1..MOST_QUESTIONS {
            if !known.may_be_outdated(header, gateway.now_ms()) {
                break;
            }
            known = self.ask(gateway, provider, known.version).await;
        }
        known.key(header, gateway.now_ms())
    }

    fn known(&self, provider: &Provider) -> Option<CachedKeys> {
        let all = self.0.borrow();
        all.iter().find(|(url, _)| *url == provider.jwks_url).map(|(_, known)| known.clone())
    }

    /// Asks the keeper. Where it fails, the keys that are known serve on.
    async fn ask<G: Gateway>(
        &self,
        gateway: &G,
        provider: &Provider,
        lacking: Option<u64>,
    ) -> CachedKeys {
        let (jwks_url, issuer) = (provider.jwks_url.clone(), provider.issuer.clone());
        let question = KeyQuestion { jwks_url, issuer, lacking };
        let keeper = sha256_hex(provider.jwks_url.as_bytes());
        let reply = ask_in_time(gateway, &keeper, &question, WAIT_MS).await;
        let reply = reply.map_err(|fault| fault.to_string());
        let (now, earlier) = (gateway.now_ms(), self.known(provider));
        let known = reply.and_then(|reply| CachedKeys::of(reply, earlier.as_ref(), now));
        let known = known.unwrap_or_else(|failure| {
            let serves_until = earlier.as_ref().map_or(0, |earlier| earlier.serves_until);
            let serve_ms = serves_until.saturating_sub(now);
            gateway.log(jwks_failed(&provider.issuer, &failure, serve_ms));
            CachedKeys::after_failure(earlier, now)
        });
        let mut all = self.0.borrow_mut();
        all.retain(|(url, _)| *url != provider.jwks_url);
        all.push((provider.jwks_url.clone(), known.clone()));
        known
    }
}

impl CachedKeys {
    fn of(reply: KeySetReply, earlier: Option<&Self>, now: u64) -> Result<Self, String> {
        let same =
            earlier.filter(|earlier| reply.version.is_some() && earlier.version == reply.version);
        let keys = match (reply.keys, same.and_then(|same| same.keys.clone())) {
            (None, _) => None,
            (Some(_), Some(read)) => Some(read),
            (Some(document), None) => {
                let read = KeySet::read(document.get().as_bytes().to_vec());
                Some(Rc::new(read.map_err(|fault| fault.to_string())?.0))
            }
        };
        Ok(Self {
            version: reply.version,
            keys,
            said_at: now,
            fresh_until: now.saturating_add(reply.fresh_ms),
            serves_until: now.saturating_add(reply.serves_ms),
            asks_again_at: now.saturating_add(reply.asks_again_ms),
        })
    }

    /// What is known after a keeper's failure: the earlier keys while they may serve, or none, for a moment.
    fn after_failure(earlier: Option<Self>, now: u64) -> Self {
        let serving =
            earlier.filter(|earlier| earlier.said_at <= now && now < earlier.serves_until);
        let known = serving.unwrap_or_else(|| Self { serves_until: now, ..Self::default() });
        let again_at = now + RETRY_MS;
        Self { said_at: now, fresh_until: again_at, asks_again_at: again_at, ..known }
    }

    /// Whether the keeper need not be asked. Where the clock was set back, it is asked anew.
    fn is_fresh(&self, now: u64) -> bool {
        self.said_at <= now && now < self.fresh_until
    }

    /// Whether the keeper may have or get a key that is lacking here.
    fn may_be_outdated(&self, header: &Header, now: u64) -> bool {
        now >= self.asks_again_at
            && self.keys.as_ref().is_some_and(|keys| choice(keys, header) == Choice::Unknown)
    }

    fn key(&self, header: &Header, now: u64) -> Result<PublicKey, Refusal> {
        let Some(keys) = &self.keys else {
            let retry_after_ms = self.fresh_until.saturating_sub(now);
            return Err(Refusal::Unavailable { retry_after_ms });
        };
        match choice(keys, header) {
            Choice::One(key) => Ok(key.clone()),
            Choice::Unknown | Choice::Unfit => Err(Refusal::Invalid("jwt: key")),
        }
    }
}

fn choice<'k>(keys: &'k KeySet, header: &Header) -> Choice<'k> {
    keys.choose(header.algorithm, header.key_id.as_deref())
}
