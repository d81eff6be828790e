//! The steps of a token's check, in their order (interface §13). Each that fails ends it.
//!
//! Nothing about a verified token is cached: a cache by token or by key is where users get mixed up.

use super::caller::{Caller, Credential};
use super::claims::Claims;
use super::grants::Grants;
use super::jose::Jws;
use super::key_set::signature_bytes;
use super::key_set_cache::KeySetCache;
use super::providers::Providers;
use super::refusal::Refusal;
use crate::json::Node;
use crate::ports::Gateway;

/// The check of tokens by a deployment's providers, one for an isolate.
pub struct TokenCheck {
    providers: Providers,
    keys: KeySetCache,
}

impl TokenCheck {
    /// The check by these providers. No keys are known yet.
    pub fn new(providers: Providers) -> Self {
        Self { providers, keys: KeySetCache::default() }
    }

    /// Checks a token. The caller has what its provider permits.
    ///
    /// # Errors
    /// The reason why it lets nobody in.
    pub async fn verify<G: Gateway>(&self, gateway: &G, token: &str) -> Result<Caller, Refusal> {
        let jws = Jws::read(token)?;
        let payload = Node::root(&jws.payload);
        let issuer = payload.find("iss").and_then(|claim| claim.as_text());
        let provider = issuer.and_then(|issuer| self.providers.of_issuer(&issuer));
        let provider = provider.ok_or(Refusal::Invalid("jwt: issuer"))?;
        if !provider.algorithms.contains(&jws.header.algorithm) {
            return Err(Refusal::Invalid("jwt: algorithm"));
        }
        if !provider.types.contains(&jws.header.token_type) {
            return Err(Refusal::Invalid("jwt: type"));
        }
        let key = self.keys.key(gateway, provider, &jws.header).await?;
        let is_as_long = jws.signature.len() == signature_bytes(&key);
        if !is_as_long || !gateway.holds(&key, jws.signed.as_bytes(), &jws.signature).await {
            return Err(Refusal::Invalid("jwt: signature"));
        }
        let Claims { tenant, user, issued_at } =
            Claims::read(provider, &jws.payload, gateway.now_ms())?;
        let grants = Grants {
            operations: Some(provider.operations.clone()),
            workspaces: Some(provider.workspaces.clone()),
            contexts: provider.contexts.clone(),
            issued_at: Some(issued_at),
            ..Grants::default()
        };
        let credential = Credential::Provider { issuer: provider.issuer.clone() };
        Ok(Caller { tenant, credential, user: Some(user), actor: None, grants })
    }
}
