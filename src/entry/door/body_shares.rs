//! The shares of the room for bodies (interface §3): where others are refused, no tenant holds more than half of it and
//! no user more than a quarter. A caller's only body is refused for no share; it gives way, after all others, where its
//! tenant holds more than half by several.

use std::collections::BTreeMap;

use crate::identity::Caller;

/// All bodies at once, in bytes: an isolate has 128 MB for everything.
pub(super) const ROOM_BYTES: usize = 32 << 20;

const TENANT_BYTES: usize = ROOM_BYTES / 2;
const USER_BYTES: usize = ROOM_BYTES / 4;

/// Whose a body is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub(super) tenant: String,
    /// `None` for a key that acts for nobody.
    pub(super) user: Option<String>,
}

impl Owner {
    pub(super) fn of(caller: &Caller) -> Self {
        Self { tenant: caller.tenant.clone(), user: caller.own_name() }
    }
}

/// What tenants and users hold of the room.
pub(super) struct Holdings<'s> {
    tenants: BTreeMap<&'s str, Holding>,
    owners: BTreeMap<&'s Owner, Holding>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Holding {
    bytes: usize,
    bodies: usize,
}

impl<'s> Holdings<'s> {
    /// What the owners of bodies of so many bytes hold.
    pub(super) fn of(bodies: impl Iterator<Item = (&'s Owner, usize)>) -> Self {
        let mut holdings = Self { tenants: BTreeMap::new(), owners: BTreeMap::new() };
        for (owner, bytes) in bodies {
            let tenant = holdings.tenants.entry(owner.tenant.as_str()).or_default();
            for holding in [tenant, holdings.owners.entry(owner).or_default()] {
                holding.bytes += bytes;
                holding.bodies += 1;
            }
        }
        holdings
    }

    /// Counts a body no more.
    pub(super) fn take_out(&mut self, owner: &Owner, bytes: usize) {
        let tenant = self.tenants.get_mut(owner.tenant.as_str());
        for holding in tenant.into_iter().chain(self.owners.get_mut(owner)) {
            holding.bytes = holding.bytes.saturating_sub(bytes);
            holding.bodies = holding.bodies.saturating_sub(1);
        }
    }

    /// Whether an owner with other bodies would hold more than a share with so many bytes more.
    pub(super) fn would_exceed(&self, owner: &Owner, bytes: usize) -> bool {
        let (tenant, own) = self.held_by(owner);
        let is_users = owner.user.is_some() && own.bytes + bytes > USER_BYTES;
        own.bodies > 1 && (is_users || tenant.bytes + bytes > TENANT_BYTES)
    }

    /// Whether a body of an owner gives way to one of another, and how soon: of those who hold more than a share, whoever
    /// holds most gives way first, and a caller's only body last.
    pub(super) fn gives_way(&self, owner: &Owner, to: &Owner) -> Option<impl Ord + use<>> {
        let (tenant, own) = self.held_by(owner);
        let of_user = owner.user.is_some() && own.bytes > USER_BYTES && own.bodies > 1;
        let is_others = owner.tenant != to.tenant;
        let of_tenant = is_others && tenant.bytes > TENANT_BYTES && tenant.bodies > 1;
        (of_user || of_tenant).then_some((own.bodies > 1, own.bytes))
    }

    fn held_by(&self, owner: &Owner) -> (Holding, Holding) {
        let tenant = self.tenants.get(owner.tenant.as_str());
        let own = self.owners.get(owner);
        (tenant.copied().unwrap_or_default(), own.copied().unwrap_or_default())
    }
}
