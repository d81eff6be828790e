//! How sessions and workspaces stand in traces, which are not erased with them (`TRACE_SESSION_ID`; interface §6).

use std::borrow::Cow;

use crate::contract::UserId;
use crate::encoding::hashed_id;

/// What stands in traces for the id of a session or a workspace of a tenant's, as the variable says; `None` for nothing.
/// A value that it does not know counts as `hash`.
pub fn traced_id<'i>(
    variable: &str,
    tenant: &str,
    user: Option<&UserId>,
    id: &'i str,
) -> Option<Cow<'i, str>> {
    match variable {
        "id" => Some(id.into()),
        "none" => None,
        _ => Some(hashed_id(tenant, user.map(UserId::as_str), id).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::sha256_hex;

    #[test]
    fn an_id_stands_in_a_trace_by_a_hash_unless_the_operator_wants_otherwise() {
        let named = |variable| traced_id(variable, "acme", None, "s").map(Cow::into_owned);
        let hash = sha256_hex(b"acme\ns").get(..32).map(str::to_owned);
        assert_eq!(named("hash"), hash);
        assert_eq!(named("something"), hash);
        assert_eq!(named("id").as_deref(), Some("s"));
        assert_eq!(named("none"), None);
    }
}
