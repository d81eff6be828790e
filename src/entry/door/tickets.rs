//! `POST /tickets` (interface §13): a key mints a ticket for a page or a guest, a ticket a narrower one. Nothing is
//! stored.

use serde_json::json;

use super::credentials::Credentials;
use crate::contract::{ErrorCode, Fault, InvokeResult, Result, parse_ticket_request};
use crate::encoding::hex;
use crate::entry::logged_caller::logged;
use crate::entry::request::RequestHead;
use crate::entry::request_id::RequestId;
use crate::entry::response::Response;
use crate::identity::{Caller, Needs, Subject, mint};
use crate::ports::Gateway;

/// A client's request as it came to the door.
pub(super) struct Arrival<'a> {
    pub(super) head: &'a RequestHead<'a>,
    pub(super) id: &'a RequestId,
    /// In milliseconds since the epoch.
    pub(super) received_at: u64,
}

/// Mints the ticket that a body asks for.
pub(super) fn mint_ticket<G: Gateway>(
    arrival: &Arrival<'_>,
    gateway: &G,
    credentials: &Credentials,
    caller: &Caller,
    needs: Option<Needs>,
    body: &[u8],
) -> Result<Response<G::Contents>, Vec<Fault>> {
    needs.map_or(Ok(()), |needs| caller.permit(&needs, Subject::Nothing))?;
    if caller.has_key() {
        refuse_pages(arrival.head)?;
    }
    let asked = parse_ticket_request(body, caller.has_key())?;
    let id = format!("tk_{}", hex(&gateway.random_bytes()?));
    let minted = mint(&credentials.tickets, caller, asked, id, arrival.received_at)?;
    let mut line = json!({
        "event": "ticket", "level": "info", "tenant": caller.tenant,
        "minted": minted.ticket_id, "operations": minted.operations,
        "sessions": minted.sessions, "seconds": minted.seconds, "request_id": arrival.id.as_str(),
    });
    if let Some(members) = line.as_object_mut() {
        members.extend(logged(caller.record(), &caller.tenant, credentials.users));
        let user = credentials.users.name(&caller.tenant, &minted.user);
        members.extend(user.map(|user| ("user".to_owned(), user.into())));
    }
    gateway.log(line);
    Ok(Response::result(&InvokeResult::success(minted)))
}

/// A key that a page sends has leaked already; the mistake shows at once.
fn refuse_pages(head: &RequestHead<'_>) -> Result<()> {
    if head.header("Origin").is_none() && head.header("Sec-Fetch-Site").is_none() {
        return Ok(());
    }
    let message = "A web page must not hold an API key, so none mints a ticket with one. Mint the ticket in your back end.";
    Err(Fault::new(ErrorCode::Forbidden, message))
}
