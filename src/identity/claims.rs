//! What a token of a provider says, once its signature is known to hold (interface §13): its types, its audience, its
//! times, and whose it is.
//!
//! A claim of another type is never taken for one that is absent.

use std::borrow::Cow;

use super::providers::{ClaimedTenants, Provider, RequiredValue};
use super::refusal::Refusal;
use crate::contract::UserId;
use crate::json::{Kind, Node, for_each_element};

/// The largest point in time, in seconds: every reader of JSON holds the numbers up to it.
const LATEST_S: f64 = 9_007_199_254_740_992.0;

/// Whose a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    pub tenant: String,
    pub user: UserId,
    /// When it counts as issued, in milliseconds since the Unix epoch: when the provider says, less what that one's clock
    /// may run ahead; 0 where the token does not say.
    pub issued_at: u64,
}

impl Claims {
    /// Reads the payload of a token whose signature holds. `payload` is the JSON of an object, by the rules of
    /// [`super::Jws`].
    ///
    /// # Errors
    /// [`Refusal::Invalid`], and [`Refusal::Expired`] for a token with nothing wrong but its age.
    pub fn read(provider: &Provider, payload: &str, now_ms: u64) -> Result<Self, Refusal> {
        let payload = Node::root(payload);
        let times = Times::read(payload)?;
        check_audience(provider, payload)?;
        check_party(provider, payload)?;
        for (name, required) in &provider.required_claims {
            let is_as_required = payload.find(name).is_some_and(|claim| match required {
                RequiredValue::Text(text) => claim.as_text().is_some_and(|held| held == *text),
                RequiredValue::Flag(flag) => claim.json == if *flag { "true" } else { "false" },
            });
            if !is_as_required {
                return Err(Refusal::Invalid("jwt: required claim"));
            }
        }
        let tenant = tenant(provider, payload)?;
        let user = user(provider, payload, &tenant)?;
        times.check(provider, now_ms)?;
        Ok(Self { tenant, user, issued_at: times.issued_at(provider) })
    }
}

/// The points in time of a token, in seconds since the Unix epoch.
struct Times {
    expires: f64,
    not_before: Option<f64>,
    issued: Option<f64>,
}

impl Times {
    fn read(payload: Node<'_, '_>) -> Result<Self, Refusal> {
        let time = |name: &str| match payload.find(name) {
            None => Ok(None),
            Some(claim) => time(claim).map(Some).ok_or(Refusal::Invalid("jwt: time")),
        };
        Ok(Self {
            expires: time("exp")?.ok_or(Refusal::Invalid("jwt: time"))?,
            not_before: time("nbf")?,
            issued: time("iat")?,
        })
    }

    fn check(&self, provider: &Provider, now_ms: u64) -> Result<(), Refusal> {
        let (now, skew) = (now_ms as f64 / 1000.0, provider.clock_skew_s as f64);
        let is_early =
            [self.not_before, self.issued].into_iter().flatten().any(|from| from > now + skew);
        // A token that does not say since when it lives may live as long from now on: a revocation is forgotten when no
        // earlier token can live any more.
        let since = self.issued.unwrap_or(now);
        let lives_too_long = self.expires - since > provider.max_age_s as f64;
        if is_early || lives_too_long {
            return Err(Refusal::Invalid("jwt: time"));
        }
        if self.expires + skew <= now { Err(Refusal::Expired) } else { Ok(()) }
    }

    fn issued_at(&self, provider: &Provider) -> u64 {
        // A float saturates when it is cast.
        let skew = provider.revocation_skew_s as f64;
        self.issued.map_or(0, |issued| ((issued - skew) * 1000.0) as u64)
    }
}

/// A point in time: a finite number of seconds, which may have a fraction (RFC 7519, section 2).
fn time(claim: Node<'_, '_>) -> Option<f64> {
    // Text that is no number, and one beyond every double, are no number to this reader.
    let number: f64 = serde_json::from_str(claim.json).ok()?;
    (0.0..=LATEST_S).contains(&number).then_some(number)
}

/// `aud`: a text, or a list of texts with one at least.
fn check_audience(provider: &Provider, payload: Node<'_, '_>) -> Result<(), Refusal> {
    let is_ours = |audience: &str| provider.audiences.iter().any(|ours| ours == audience);
    let claim = payload.find("aud").ok_or(Refusal::Invalid("jwt: audience"))?;
    let (mut are_texts, mut names_us) = (true, false);
    let mut take = |text: Option<Cow<'_, str>>| match text {
        Some(text) => names_us |= is_ours(&text),
        None => are_texts = false,
    };
    if claim.kind() == Kind::Array {
        let _ = for_each_element(claim.json, |json| take(Node { json, ..claim }.as_text()));
    } else {
        take(claim.as_text());
    }
    if are_texts && names_us { Ok(()) } else { Err(Refusal::Invalid("jwt: audience")) }
}

/// The client that the token was made for, where the provider lists such clients: `azp`, else `client_id`, else what Okta's
/// access tokens and those of Entra ID's version 1 call it.
fn check_party(provider: &Provider, payload: Node<'_, '_>) -> Result<(), Refusal> {
    let Some(parties) = &provider.authorized_parties else { return Ok(()) };
    let claim = ["azp", "client_id", "cid", "appid"].into_iter().find_map(|name| {
        let json = payload.find(name)?.json;
        Some(Node { json, ..payload })
    });
    let party = claim.and_then(|claim| claim.as_text());
    let is_listed = party.is_some_and(|party| parties.iter().any(|listed| *listed == party));
    if is_listed { Ok(()) } else { Err(Refusal::Invalid("jwt: party")) }
}

fn tenant(provider: &Provider, payload: Node<'_, '_>) -> Result<String, Refusal> {
    let tenant = match &provider.tenants {
        None => provider.tenant.as_deref(),
        Some(ClaimedTenants { claim, tenants }) => {
            let value = payload.find(claim).and_then(|claim| claim.as_text());
            let mapped = value.and_then(|value| tenants.iter().find(|(known, _)| *known == value));
            mapped.map(|(_, tenant)| tenant.as_str())
        }
    };
    tenant.map(str::to_owned).ok_or(Refusal::Invalid("jwt: tenant"))
}

fn user(provider: &Provider, payload: Node<'_, '_>, tenant: &str) -> Result<UserId, Refusal> {
    let claim = payload.find(&provider.user_claim).and_then(|claim| claim.as_text());
    let claimed = claim.as_deref().and_then(UserId::parse);
    let user = claimed.and_then(|user| UserId::parse(&format!("{}{user}", provider.user_prefix)));
    let is_foreign = |user: &UserId| {
        let mut foreign = provider.foreign_prefixes.iter();
        foreign.any(|(of, prefix)| of == tenant && user.as_str().starts_with(prefix))
    };
    user.filter(|user| !is_foreign(user)).ok_or(Refusal::Invalid("jwt: user"))
}
