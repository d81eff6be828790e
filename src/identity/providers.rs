//! The operator's identity providers, as the variable `IDENTITY_PROVIDERS` writes them (interface §6, §13).
//!
//! A fault is named by its place and never by a value (`variable`).

use super::jose::{Algorithm, type_name};
use super::variable::{
    FirstFault, any_texts, is_filled, read_variable, tenant_problem, text, texts,
};
use crate::catalog::url_problem;
use crate::contract::{Operation, Result, UserId};
use crate::encoding::is_sent_openly;
use crate::json::{Node, Problem, Problems, declared_object, named_values};

/// The most of `ClockSkewS`, and of `MaxAgeS`.
pub(super) const MOST_SKEW_S: u64 = 300;
const MOST_AGE_S: u64 = 1 << 31;

/// The providers of a deployment. No two have the same issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Providers(Vec<Provider>);

/// The value that a claim must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequiredValue {
    Text(String),
    Flag(bool),
}

impl Providers {
    /// The longest life of a token, in milliseconds, with the differences of clocks that its provider permits.
    pub fn longest_token_ms(&self) -> u64 {
        let life = |provider: &Provider| {
            provider.max_age_s + provider.clock_skew_s + provider.revocation_skew_s
        };
        self.0.iter().map(life).max().unwrap_or(0).saturating_mul(1000)
    }

    /// Reads the variable: a JSON array of providers.
    ///
    /// # Errors
    /// `internal`, with the place of the first fault.
    pub fn parse(text: &str) -> Result<Self> {
        let read = read_variable("IDENTITY_PROVIDERS", text, |root, fault| {
            let mut providers = Vec::new();
            root.elements(fault, |node, fault| {
                let mut provider = provider(node, fault);
                check_beside(&mut provider, &mut providers, node, fault);
                providers.push(provider);
            });
            providers
        });
        read.map(Self)
    }

    /// The provider with exactly this issuer.
    pub fn of_issuer(&self, issuer: &str) -> Option<&Provider> {
        self.0.iter().find(|provider| provider.issuer == issuer)
    }
}

/// Checks a provider beside the earlier ones, so that each user of a tenant is of one provider: no two have the same
/// prefix there, and a name that begins with two prefixes is of the provider with the longer one.
fn check_beside(
    one: &mut Provider,
    earlier: &mut [Provider],
    node: Node<'_, '_>,
    fault: &mut FirstFault,
) {
    for other in earlier {
        if other.issuer == one.issuer {
            let words = Problem::Invalid("is that of an earlier provider");
            fault.add(node.member("Issuer", node.json), words);
        }
        let others: Vec<&str> = other.tenants().collect();
        let shared = one.tenants().filter(|tenant| others.contains(tenant));
        let shared: Vec<String> = shared.map(str::to_owned).collect();
        for tenant in shared {
            let (prefix, others) = (one.user_prefix.clone(), other.user_prefix.clone());
            if prefix == others {
                let words = "is that of an earlier provider of the same tenant; give each its own";
                fault.add(node.member("UserPrefix", node.json), Problem::Invalid(words));
            } else if prefix.starts_with(&others) {
                other.foreign_prefixes.push((tenant, prefix));
            } else if others.starts_with(&prefix) {
                one.foreign_prefixes.push((tenant, others));
            }
        }
    }
}

declared_object! {
    /// An identity provider: whose tokens they are, and what they permit.
    #[derive(Eq)]
    pub struct Provider by FirstFault {
        "Issuer" required => issuer: String = text(is_filled),
        /// The address of its public keys.
        "JwksUrl" required => jwks_url: String = text(keys_url_problem),
        "Audiences" required => audiences: Vec<String> = texts(is_filled),
        "Algorithms" => algorithms: Vec<Algorithm> = algorithms()
            or vec![Algorithm::Rs256, Algorithm::Es256, Algorithm::Ed25519],
        /// The tenant of all its users. It has one, or `Tenants`.
        "Tenant" => tenant: Option<String> = text(tenant_problem),
        "Tenants" => tenants: Option<ClaimedTenants> = ClaimedTenants::read(),
        /// The claim that names the user, and what stands before it in the user's name.
        "UserClaim" => user_claim: String = text(is_filled) or "sub".to_owned(),
        "UserPrefix" => user_prefix: String = text(prefix_problem),
        /// The types of its tokens, as `type_name` writes them.
        "Types" => types: Vec<String> = types() or ["at+jwt", "JWT"].map(type_name).into(),
        "RequiredClaims" => required_claims: Vec<(String, RequiredValue)> =
            named_values(|_| None, required_value),
        /// The clients whose tokens are taken. Absent: any.
        "AuthorizedParties" => authorized_parties: Option<Vec<String>> = texts(is_filled),
        /// How far its clock and the deployment's may differ, how much of that its clock may run ahead where credentials
        /// are revoked, and the longest life of a token.
        "ClockSkewS" => clock_skew_s: u64 = integer(0, MOST_SKEW_S) or 60,
        "RevocationSkewS" => revocation_skew_s: u64 = integer(0, MOST_SKEW_S),
        "MaxAgeS" => max_age_s: u64 = integer(1, MOST_AGE_S) or 86_400,
        "Operations" => operations: Vec<Operation> = operations() or Operation::DEFAULT.to_vec(),
        "Workspaces" => workspaces: Vec<String> = any_texts(is_filled),
        /// The conversation contexts that a session's first turn may name. Absent: all.
        "Contexts" => contexts: Option<Vec<String>> = texts(is_filled),
    } with {
        /// Tenants, each with a beginning of users' names that belongs to another provider.
        pub(super) foreign_prefixes: Vec<(String, String)>,
    }
}

declared_object! {
    /// The tenants of a provider's users, by the values of a claim.
    #[derive(Eq)]
    pub struct ClaimedTenants by FirstFault {
        "Claim" required => claim: String = text(is_filled),
        "Map" required => tenants: Vec<(String, String)> = named_values(|_| None, tenant),
    }
}

fn provider(node: Node<'_, '_>, fault: &mut FirstFault) -> Provider {
    let provider = Provider::read(node, fault);
    if provider.tenant.is_some() == provider.tenants.is_some() {
        fault.add(node, Problem::Invalid("must have one of Tenant and Tenants"));
    }
    if provider.revocation_skew_s > provider.clock_skew_s {
        let member = node.member("RevocationSkewS", node.json);
        fault.add(member, Problem::Invalid("must be at most ClockSkewS"));
    }
    provider
}

impl Provider {
    /// Every tenant that it may name.
    fn tenants(&self) -> impl Iterator<Item = &str> {
        let mapped = self.tenants.iter().flat_map(|claimed| &claimed.tenants);
        self.tenant.iter().chain(mapped.map(|(_, tenant)| tenant)).map(String::as_str)
    }
}

fn algorithms(node: Node<'_, '_>, fault: &mut FirstFault) -> Vec<Algorithm> {
    let problem =
        |name: &str| Algorithm::parse(name).is_none().then_some("must be RS256, ES256 or EdDSA");
    texts(node, problem, fault).iter().filter_map(|name| Algorithm::parse(name)).collect()
}

fn operations(node: Node<'_, '_>, fault: &mut FirstFault) -> Vec<Operation> {
    let problem = |name: &str| Operation::parse(name).is_none().then_some("is no operation");
    texts(node, problem, fault).iter().filter_map(|name| Operation::parse(name)).collect()
}

fn types(node: Node<'_, '_>, fault: &mut FirstFault) -> Vec<String> {
    texts(node, is_filled, fault).iter().map(|name| type_name(name)).collect()
}

fn required_value(node: Node<'_, '_>, fault: &mut FirstFault) -> RequiredValue {
    match node.json {
        "true" => RequiredValue::Flag(true),
        "false" => RequiredValue::Flag(false),
        _ => RequiredValue::Text(text(node, |_| None, fault)),
    }
}

fn tenant(node: Node<'_, '_>, fault: &mut FirstFault) -> String {
    text(node, tenant_problem, fault)
}

/// A prefix begins a user's name, whatever the rest is.
fn prefix_problem(text: &str) -> Option<&'static str> {
    UserId::parse(&format!("{text}x")).is_none().then_some(
        "must be at most 127 bytes, without control characters and without white space at its beginning",
    )
}

fn keys_url_problem(url: &str) -> Option<&'static str> {
    let open =
        || is_sent_openly(url).then_some("must begin with https://, unless it is on this machine");
    url_problem(url).or_else(open)
}

fn integer(node: Node<'_, '_>, least: u64, most: u64, fault: &mut FirstFault) -> u64 {
    let number = node.json.parse().ok().filter(|number| (least..=most).contains(number));
    number.unwrap_or_else(|| {
        let words = format!("must be a whole number from {least} to {most}");
        fault.add(node, Problem::Invalid(&words));
        least
    })
}
