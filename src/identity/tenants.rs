//! What the operator says of tenants, by the variables `TENANTS` and `JURISDICTIONS` (interface §6): where their objects
//! live, and which conversation contexts they may use.
//!
//! [`Tenants::place`] is the one rule by which objects are asked for: the Worker in front and every object that asks
//! another one follow it, so what a tenant has is in one jurisdiction.

use std::borrow::Cow;

use super::variable::{FirstFault, any_texts, is_filled, read_variable, tenant_problem};
use crate::contract::{ClosedList, Fault, Result, closed_list};
use crate::encoding::Jurisdiction;
use crate::json::{Node, Problem, Problems, declared_object};
use crate::ports::{ObjectClass, ObjectIdentity};

/// The name of all tenants that have no entry of their own.
const OTHERS: &str = "*";

closed_list! {
    /// A part of the world near which the platform makes an object, where it can.
    pub enum Placement {
        WesternNorthAmerica = "wnam",
        EasternNorthAmerica = "enam",
        SouthAmerica = "sam",
        WesternEurope = "weur",
        EasternEurope = "eeur",
        AsiaPacific = "apac",
        Oceania = "oc",
        Africa = "afr",
        MiddleEast = "me",
    }
}

/// What the operator says of tenants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tenants {
    named: Vec<(String, TenantTerms)>,
    /// The terms of every tenant without an entry.
    others: TenantTerms,
    /// The runtime has no jurisdictions: names of objects stand for them.
    is_simulated: bool,
}

/// Where an object is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectPlace<'n> {
    /// Its name within its class and jurisdiction.
    pub name: Cow<'n, str>,
    /// The jurisdiction that the runtime is asked for.
    pub jurisdiction: Option<Jurisdiction>,
    pub placement: Option<Placement>,
}

impl Tenants {
    /// Reads the variables.
    ///
    /// # Errors
    /// `internal`, with the place of the first fault.
    pub fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let tenants = variable("TENANTS").filter(|text| !text.is_empty());
        let read = |text: String| read_variable("TENANTS", &text, Self::read);
        let tenants = tenants.map(read).transpose()?.unwrap_or_default();
        let is_simulated = match variable("JURISDICTIONS").as_deref() {
            None | Some("") => false,
            Some("simulated") => true,
            Some(_) => {
                let message =
                    "The deployment's variable JURISDICTIONS must be simulated, or absent.";
                return Err(Fault::internal(message));
            }
        };
        Ok(Self { is_simulated, ..tenants })
    }

    fn read(root: Node<'_, '_>, fault: &mut FirstFault) -> Self {
        let mut tenants = Self::default();
        root.entries(fault, |name, node, fault| {
            let terms = terms(node, fault);
            if name == OTHERS {
                tenants.others = terms;
            } else {
                if let Some(words) = tenant_problem(name) {
                    fault
                        .add(node, Problem::Invalid(&format!("is of no tenant: the name {words}")));
                }
                tenants.named.push((name.to_owned(), terms));
            }
        });
        tenants
    }

    /// What holds for a tenant.
    pub fn of(&self, tenant: &str) -> &TenantTerms {
        let named = self.named.iter().find(|(name, _)| name == tenant);
        named.map_or(&self.others, |(_, terms)| terms)
    }

    /// The jurisdiction that the runtime itself has to offer for a tenant.
    pub fn needed_jurisdiction(&self, tenant: &str) -> Option<Jurisdiction> {
        self.of(tenant).jurisdiction.filter(|_| !self.is_simulated)
    }

    /// Where the object of a class and a name, `{tenant}/…`, is asked for. Key sets belong to no tenant.
    pub fn place<'n>(&self, class: ObjectClass, name: &'n str) -> ObjectPlace<'n> {
        let terms = match class {
            ObjectClass::Session
            | ObjectClass::User
            | ObjectClass::Workspace
            | ObjectClass::McpList => name.split_once('/').map(|(tenant, _)| self.of(tenant)),
            ObjectClass::KeySet => None,
        };
        let (jurisdiction, placement) =
            terms.map_or((None, None), |terms| (terms.jurisdiction, terms.placement));
        match jurisdiction {
            Some(jurisdiction) if self.is_simulated => {
                let name = format!("@{}/{name}", jurisdiction.as_str()).into();
                ObjectPlace { name, jurisdiction: None, placement }
            }
            Some(_) | None => ObjectPlace { name: name.into(), jurisdiction, placement },
        }
    }

    /// Which object it is, by the name that it was asked for with.
    pub fn identity(&self, class: ObjectClass, name: Option<String>) -> ObjectIdentity {
        let simulated = |name: &str| {
            let (jurisdiction, name) = name.strip_prefix('@')?.split_once('/')?;
            Some((Jurisdiction::parse(jurisdiction)?, name.to_owned()))
        };
        match name.as_deref().filter(|_| self.is_simulated).and_then(simulated) {
            Some((jurisdiction, name)) => {
                ObjectIdentity::new(class, Some(name)).within(Some(jurisdiction))
            }
            None => {
                let identity = ObjectIdentity::new(class, name);
                let tenant = identity.tenant().map(|tenant| self.of(tenant));
                let jurisdiction = tenant.and_then(|terms| terms.jurisdiction);
                identity.within(jurisdiction.filter(|_| !self.is_simulated))
            }
        }
    }
}

declared_object! {
    /// What holds for a tenant. An absent member is no limit.
    #[derive(Eq)]
    pub struct TenantTerms by FirstFault {
        "Jurisdiction" => jurisdiction: Option<Jurisdiction> = one_of(),
        "Placement" => placement: Option<Placement> = one_of(),
        /// The conversation contexts that a session's first turn, and a fork, may name.
        "Contexts" => contexts: Option<Vec<String>> = any_texts(is_filled),
    }
}

fn terms(node: Node<'_, '_>, fault: &mut FirstFault) -> TenantTerms {
    let terms = TenantTerms::read(node, fault);
    if terms.jurisdiction.is_some() && terms.placement.is_some() {
        let words = "stands beside Jurisdiction, which decides alone; remove one of them";
        fault.add(node.member("Placement", node.json), Problem::Invalid(words));
    }
    terms
}

/// The member of a list that a text names.
fn one_of<T: ClosedList>(node: Node<'_, '_>, fault: &mut FirstFault) -> Option<T> {
    let parsed = T::of_name(&node.text(fault)?);
    if parsed.is_none() {
        let words = format!("must be one of {}", T::NAMES.join(", "));
        fault.add(node, Problem::Invalid(&words));
    }
    parsed
}
