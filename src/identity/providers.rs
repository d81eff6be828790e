//! The operator's identity providers, as the variable `IDENTITY_PROVIDERS` writes them (interface §6, §13).
//!
//! A fault is named by its place and never by a value (`variable`).

use super::jose::{Algorithm, type_name};
use super::variable::{
    FirstFault, any_texts, each_member, is_filled, read_variable, tenant_problem, text, texts,
};
use crate::catalog::url_problem;
use crate::contract::{Fault, Operation, UserId};
use crate::encoding::is_sent_openly;
use crate::json::{Node, ObjectShape, Problem, Report};

/// The most of `ClockSkewS`, and of `MaxAgeS`.
const MOST_SKEW_S: u64 = 300;
const MOST_AGE_S: u64 = 1 << 31;

const PROVIDER: ObjectShape = ObjectShape::new(
    &[
        "Issuer",
        "JwksUrl",
        "Audiences",
        "Algorithms",
        "Tenant",
        "Tenants",
        "UserClaim",
        "UserPrefix",
        "Types",
        "RequiredClaims",
        "AuthorizedParties",
        "ClockSkewS",
        "RevocationSkewS",
        "MaxAgeS",
        "Operations",
        "Workspaces",
        "Contexts",
    ],
    &["Issuer", "JwksUrl", "Audiences"],
);

const TENANTS: ObjectShape = ObjectShape::new(&["Claim", "Map"], &["Claim", "Map"]);

/// The providers of a deployment. No two have the same issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Providers(Vec<Provider>);

/// An identity provider: whose tokens they are, and what they permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    pub issuer: String,
    /// The address of its public keys.
    pub jwks_url: String,
    pub audiences: Vec<String>,
    pub algorithms: Vec<Algorithm>,
    pub tenant: TenantRule,
    /// The claim that names the user, and what stands before it in the user's name.
    pub user_claim: String,
    pub user_prefix: String,
    /// The types of its tokens, as [`type_name`] writes them.
    pub types: Vec<String>,
    pub required_claims: Vec<(String, RequiredValue)>,
    /// The clients whose tokens are taken; `None` for any.
    pub authorized_parties: Option<Vec<String>>,
    /// How far its clock and the deployment's may differ, how much of that its clock may run ahead where credentials are
    /// revoked, and the longest life of a token, in seconds.
    pub clock_skew_s: u64,
    pub revocation_skew_s: u64,
    pub max_age_s: u64,
    pub operations: Vec<Operation>,
    pub workspaces: Vec<String>,
    /// The conversation contexts that a session's first turn may name; `None` for all.
    pub contexts: Option<Vec<String>>,
    /// Tenants, each with a beginning of users' names that belongs to another provider.
    pub(super) foreign_prefixes: Vec<(String, String)>,
}

/// The tenant of a provider's users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TenantRule {
    Fixed(String),
    /// The tenant that stands for a claim's value.
    ByClaim {
        claim: String,
        tenants: Vec<(String, String)>,
    },
}

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
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let read = read_variable("IDENTITY_PROVIDERS", text, |root, fault| {
            let mut providers = Vec::new();
            root.elements(fault, |node, fault| {
                let mut provider = Provider::read(node, fault);
                check_beside(&mut provider, &mut providers, node, fault);
                providers.push(provider);
            });
            providers
        });
        read.map(Self)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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

impl Provider {
    fn read(node: Node<'_, '_>, fault: &mut FirstFault) -> Self {
        let mut read = Self {
            issuer: String::new(),
            jwks_url: String::new(),
            audiences: Vec::new(),
            algorithms: vec![Algorithm::Rs256, Algorithm::Es256, Algorithm::Ed25519],
            tenant: TenantRule::Fixed(String::new()),
            user_claim: "sub".to_owned(),
            user_prefix: String::new(),
            types: ["at+jwt", "JWT"].map(type_name).into(),
            required_claims: Vec::new(),
            authorized_parties: None,
            clock_skew_s: 60,
            revocation_skew_s: 0,
            max_age_s: 86_400,
            operations: Operation::DEFAULT.to_vec(),
            workspaces: Vec::new(),
            contexts: None,
            foreign_prefixes: Vec::new(),
        };
        let mut tenants = 0;
        PROVIDER
            .read(node, fault, |member, node, fault| read.take(member, node, fault, &mut tenants));
        if tenants != 1 {
            fault.add(node, Problem::Invalid("must have one of Tenant and Tenants"));
        }
        if read.revocation_skew_s > read.clock_skew_s {
            let member = node.member("RevocationSkewS", node.json);
            fault.add(member, Problem::Invalid("must be at most ClockSkewS"));
        }
        read
    }

    fn take(
        &mut self,
        member: &str,
        node: Node<'_, '_>,
        fault: &mut FirstFault,
        tenants: &mut usize,
    ) {
        match member {
            "Issuer" => self.issuer = text(node, fault, is_filled),
            "JwksUrl" => self.jwks_url = text(node, fault, keys_url_problem),
            "Audiences" => self.audiences = texts(node, fault, is_filled),
            "Algorithms" => {
                let names = texts(node, fault, |name| {
                    Algorithm::parse(name).is_none().then_some("must be RS256, ES256 or EdDSA")
                });
                self.algorithms = names.iter().filter_map(|name| Algorithm::parse(name)).collect();
            }
            "Tenant" => {
                *tenants += 1;
                self.tenant = TenantRule::Fixed(text(node, fault, tenant_problem));
            }
            "Tenants" => {
                *tenants += 1;
                self.tenant = tenant_by_claim(node, fault);
            }
            "UserClaim" => self.user_claim = text(node, fault, is_filled),
            "UserPrefix" => self.user_prefix = text(node, fault, prefix_problem),
            "Types" => {
                let types = texts(node, fault, is_filled);
                self.types = types.iter().map(|name| type_name(name)).collect();
            }
            "RequiredClaims" => {
                each_member(node, fault, |name, node, fault| {
                    let value = match node.json {
                        "true" => RequiredValue::Flag(true),
                        "false" => RequiredValue::Flag(false),
                        _ => RequiredValue::Text(text(node, fault, |_| None)),
                    };
                    self.required_claims.push((name, value));
                });
            }
            "AuthorizedParties" => self.authorized_parties = Some(texts(node, fault, is_filled)),
            "ClockSkewS" => self.clock_skew_s = integer(node, fault, 0, MOST_SKEW_S),
            "RevocationSkewS" => self.revocation_skew_s = integer(node, fault, 0, MOST_SKEW_S),
            "MaxAgeS" => self.max_age_s = integer(node, fault, 1, MOST_AGE_S),
            "Operations" => {
                let names = texts(node, fault, |name| {
                    Operation::parse(name).is_none().then_some("is no operation")
                });
                self.operations = names.iter().filter_map(|name| Operation::parse(name)).collect();
            }
            "Workspaces" => self.workspaces = any_texts(node, fault, is_filled),
            "Contexts" => self.contexts = Some(texts(node, fault, is_filled)),
            _ => {}
        }
    }

    /// Every tenant that it may name.
    fn tenants(&self) -> impl Iterator<Item = &str> {
        let (fixed, mapped) = match &self.tenant {
            TenantRule::Fixed(tenant) => (Some(tenant), [].as_slice()),
            TenantRule::ByClaim { tenants, .. } => (None, tenants.as_slice()),
        };
        fixed.into_iter().chain(mapped.iter().map(|(_, tenant)| tenant)).map(String::as_str)
    }
}

fn tenant_by_claim(node: Node<'_, '_>, fault: &mut FirstFault) -> TenantRule {
    let (mut claim, mut tenants) = (String::new(), Vec::new());
    TENANTS.read(node, fault, |member, node, fault| match member {
        "Claim" => claim = text(node, fault, is_filled),
        _ => each_member(node, fault, |value, node, fault| {
            tenants.push((value, text(node, fault, tenant_problem)));
        }),
    });
    TenantRule::ByClaim { claim, tenants }
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

fn integer(node: Node<'_, '_>, fault: &mut FirstFault, least: u64, most: u64) -> u64 {
    let number = node.json.parse().ok().filter(|number| (least..=most).contains(number));
    number.unwrap_or_else(|| {
        let words = format!("must be a whole number from {least} to {most}");
        fault.add(node, Problem::Invalid(&words));
        least
    })
}
