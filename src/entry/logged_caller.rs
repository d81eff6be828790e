//! Who sent a request, as lines of the log name the sender: `key`, `ticket` or `provider`, `user` and `actor`.

use serde_json::{Map, Value};

use crate::contract::CallerRecord;
use crate::ports::{LoggedUsers, Platform};

/// The members for a caller of a tenant's.
pub(super) fn logged(record: CallerRecord, tenant: &str, users: LoggedUsers) -> Map<String, Value> {
    let name =
        |user: &Option<_>| user.as_ref().and_then(|user| users.name(tenant, user)).map(Into::into);
    let (user, actor): (Option<String>, Option<String>) = (name(&record.user), name(&record.actor));
    let members = [
        ("user", user),
        ("actor", actor),
        ("key", record.key),
        ("ticket", record.ticket),
        ("provider", record.provider),
    ];
    let known = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known.map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// The same for a line of an object, which knows its tenant.
pub(super) fn logged_in_object<P: Platform>(
    platform: &P,
    record: CallerRecord,
) -> Map<String, Value> {
    // The variable is read where there is somebody to name.
    let names_somebody = record.user.is_some() || record.actor.is_some();
    let variable = if names_somebody { platform.secret("LOG_USERS") } else { None };
    let users = LoggedUsers::parse(variable.as_deref()).unwrap_or_default();
    logged(record, platform.tenant().unwrap_or_default(), users)
}
