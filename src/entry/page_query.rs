//! The pages of lists that a query asks for (interface §1).

use super::request::decoded;
use crate::contract::{ClosedList, ErrorCode, Fault, IDENTIFIER_RULE, Result, TurnId, limits};
use crate::users::{Cursor, ListOrder, SessionFilter};

/// A page of a session's turns, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPage {
    /// Only turns after this one; all turns without it.
    pub after: Option<TurnId>,
    /// The largest number of turns, 1 to 100.
    pub limit: u32,
}

/// The size of the largest page, which is the default.
const MAX_LIMIT: u32 = 100;

/// Reads `After` and `Limit` of a list of turns.
pub(super) fn turn_page(query: &str) -> Result<TurnPage> {
    let mut page = TurnPage { after: None, limit: MAX_LIMIT };
    for (name, value) in members(query) {
        match name {
            "After" => {
                let turn = TurnId::parse(&decoded(value)?);
                let refused = |_| Fault::invalid_member(name, IDENTIFIER_RULE);
                page.after = Some(turn.map_err(refused)?);
            }
            "Limit" => page.limit = limit(value)?,
            _ => return Err(unknown("After and Limit")),
        }
    }
    Ok(page)
}

/// Reads which of a user's sessions a list shows.
pub(super) fn session_filter(query: &str) -> Result<SessionFilter> {
    let mut filter = SessionFilter {
        order: ListOrder::Activity,
        after: None,
        limit: MAX_LIMIT,
        status: None,
        query: None,
    };
    let mut after = None;
    for (name, value) in members(query) {
        match name {
            "After" => after = Some(decoded(value)?.into_owned()),
            "Limit" => filter.limit = limit(value)?,
            "Status" => filter.status = Some(one_of(name, value)?),
            "Order" => filter.order = one_of(name, value)?,
            // Forms write a blank as a plus sign.
            "Query" => filter.query = Some(searched(&decoded(&value.replace('+', " "))?)?),
            _ => return Err(unknown("After, Limit, Status, Query and Order")),
        }
    }
    filter.after = after
        .map(|text| {
            let problem = "must be the Next of another page of this list, in the same Order";
            Cursor::parse(&text, filter.order)
                .ok_or_else(|| Fault::invalid_member("After", problem))
        })
        .transpose()?;
    Ok(filter)
}

/// The names and values of a query's members; the values are still percent-encoded.
pub(super) fn members(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let members = query.split('&').filter(|member| !member.is_empty());
    members.map(|member| member.split_once('=').unwrap_or((member, "")))
}

fn limit(value: &str) -> Result<u32> {
    let limit = decoded(value)?.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    let problem = || format!("must be a whole number from 1 to {MAX_LIMIT}");
    limit.ok_or_else(|| Fault::invalid_member("Limit", problem()))
}

fn one_of<L: ClosedList>(name: &str, value: &str) -> Result<L> {
    let problem = || format!("must be one of: {}", L::NAMES.join(", "));
    L::of_name(&decoded(value)?).ok_or_else(|| Fault::invalid_member(name, problem()))
}

fn searched(text: &str) -> Result<String> {
    let is_right = (1..=limits::TITLE).contains(&text.chars().count());
    let problem = || format!("must be 1 to {} characters of a title", limits::TITLE);
    is_right.then(|| text.to_owned()).ok_or_else(|| Fault::invalid_member("Query", problem()))
}

/// `unknown_field` for a member of a query that the endpoint lacks.
pub(super) fn unknown(members: &str) -> Fault {
    let message = format!("This endpoint takes {members} in its query, nothing else.");
    Fault::new(ErrorCode::UnknownField, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users::SessionStatus;

    #[test]
    fn a_list_of_sessions_is_filtered_by_its_query() {
        let filter = session_filter(
            "Limit=7&After=c17.s%3A1&Status=awaiting_approval&Query=%C3%A9+b%2B&Order=Created",
        );
        let filter = filter.unwrap();
        assert_eq!(filter.after, Cursor::parse("c17.s:1", ListOrder::Created));
        assert_eq!((filter.limit, filter.order), (7, ListOrder::Created));
        assert_eq!(filter.status, Some(SessionStatus::AwaitingApproval));
        assert_eq!(filter.query.as_deref(), Some("é b+"));
        let long = format!("Query={}", "x".repeat(limits::TITLE + 1));
        for (query, path) in [
            ("Limit=0", "/Limit"),
            ("Limit=101", "/Limit"),
            ("After=c17.s", "/After"),
            ("After=", "/After"),
            ("Status=paused", "/Status"),
            ("Order=created", "/Order"),
            ("Query=", "/Query"),
            (&long, "/Query"),
        ] {
            let fault = session_filter(query).unwrap_err();
            assert_eq!((fault.code, fault.path.as_deref()), (ErrorCode::InvalidField, Some(path)));
        }
        assert_eq!(session_filter("status=idle").unwrap_err().code, ErrorCode::UnknownField);
    }
}
