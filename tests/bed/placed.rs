//! Where objects are asked for: the runtime's jurisdictions and hints, and a record of every object that was asked.

use aptix_edge::contract::Fault;
use aptix_edge::encoding::Jurisdiction;
use aptix_edge::identity::{ObjectPlace, Placement, Tenants};
use aptix_edge::ports::{FileFault, HttpFault, ObjectClass, ObjectIdentity};

use super::world::World;

/// An object as the runtime was asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedObject {
    pub class: ObjectClass,
    pub jurisdiction: Option<Jurisdiction>,
    pub placement: Option<Placement>,
    pub name: String,
}

impl World {
    /// What the operator says of tenants.
    fn tenants(&self) -> Result<Tenants, Fault> {
        Tenants::from_variables(&|name| self.secrets.borrow().get(name).cloned())
    }

    /// Records that an object is asked for, and returns its key among the world's: its name, behind `@{jurisdiction}/` where
    /// it is in one.
    pub(super) fn asked_for(&self, class: ObjectClass, name: &str) -> Result<String, HttpFault> {
        let tenants = self.tenants().map_err(|fault| HttpFault::Lost(fault.message))?;
        let ObjectPlace { name, jurisdiction, placement } = tenants.place(class, name);
        if jurisdiction.is_some() && !self.has_jurisdictions.get() {
            return Err(HttpFault::Lost("this runtime has no jurisdictions".to_owned()));
        }
        let name = name.into_owned();
        let asked = AskedObject { class, jurisdiction, placement, name: name.clone() };
        self.asked.borrow_mut().push(asked);
        if self.begins_again.get() == Some(class) {
            self.begins_again.set(None);
            let said = "Error: Durable Object reset because its code was updated.";
            return Err(HttpFault::Passing(said.to_owned()));
        }
        Ok(key(&name, jurisdiction))
    }

    /// Which object it is that has this key.
    pub(super) fn identity(&self, class: ObjectClass, key: &str) -> ObjectIdentity {
        let tenants = self.tenants().unwrap_or_default();
        let is_simulated = self.secrets.borrow().contains_key("JURISDICTIONS");
        let told = match key.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
            Some((_, name)) if !is_simulated => name,
            _ => key,
        };
        tenants.identity(class, Some(told.to_owned()))
    }

    /// What stands before the keys of a bucket.
    pub(super) fn bucket(&self, jurisdiction: Option<Jurisdiction>) -> Result<String, FileFault> {
        match jurisdiction {
            None => Ok(String::new()),
            Some(bound) if self.buckets.borrow().contains(&bound) => {
                Ok(format!("{}:", bound.as_str()))
            }
            Some(_) => Err(FileFault::NoBucket),
        }
    }

    /// Whether requests for the object's name reach the one that has this key.
    pub(super) fn is_at_home(&self, identity: &ObjectIdentity, own: &str) -> bool {
        let (Ok(tenants), Some(name)) = (self.tenants(), identity.name()) else { return false };
        let place = tenants.place(identity.class, name);
        key(&place.name, place.jurisdiction) == own
    }
}

fn key(name: &str, jurisdiction: Option<Jurisdiction>) -> String {
    match jurisdiction {
        Some(jurisdiction) => format!("@{}/{name}", jurisdiction.as_str()),
        None => name.to_owned(),
    }
}
