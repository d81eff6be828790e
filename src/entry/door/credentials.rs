//! Who sends a request (interface §6, §13): a key, a ticket or a token, told by its form. Whatever does not hold gets the
//! same `unauthenticated`; the reason stands in the log alone.

use futures_util::FutureExt;
use serde_json::json;

use super::cross_origin::AllowedOrigins;
use super::keyring::Keyring;
use super::local_access::admit_local;
use crate::contract::{ErrorCode, Fault, Result, UserId, is_tenant_name};
use crate::entry::request::{RequestHead, decoded};
use crate::entry::response::credential_expired;
use crate::entry::route::{Route, TurnRoute, query_members};
use crate::identity::{
    ALL_TENANTS, Caller, Credential, Presented, Providers, Refusal, TicketKeys, TokenCheck,
};
use crate::ports::{Gateway, LoggedUsers};

/// The header by which a key acts for a user, percent-encoded.
const USER: &str = "Aptix-User";

/// The header by which a key of all tenants names the one that it asks about.
const TENANT: &str = "Aptix-Tenant";

/// The reason of a refusal.
const NOT_FOR_A_URL: &str = "ticket: not for a URL";

/// What the deployment knows credentials by.
pub(super) struct Credentials {
    /// `None` while `AUTH` is `none`, and at no other value.
    keyring: Option<Keyring>,
    pub(super) tickets: TicketKeys,
    /// `None` without providers. Where they are malformed, their fault is the answer to every token.
    tokens: Option<Result<TokenCheck>>,
    pub(super) users: LoggedUsers,
}

/// The faults of a request, and its caller once the credential is known.
pub(super) struct Refused {
    pub(super) caller: Option<Box<Caller>>,
    pub(super) faults: Vec<Fault>,
    /// What was wrong with the credential, for the log.
    pub(super) reason: Option<&'static str>,
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self { caller: None, faults: fault.into(), reason: None }
    }
}

impl Credentials {
    /// Reads the variables. A malformed one is logged and lets nobody in.
    pub(super) fn from_variables<G: Gateway>(gateway: &G) -> Self {
        let is_open = gateway.secret("AUTH").as_deref() == Some("none");
        if is_open {
            let message =
                "AUTH=none: everyone on this machine may use this service. For local work only.";
            warn(gateway, message);
        }
        let refuse = |fault: String, what: &str| {
            let message = format!("{fault}. No {what} opens the door until it is mended.");
            gateway.log(json!({ "event": "keys_invalid", "level": "error", "message": message }));
        };
        let keyring = Keyring::read(&|name| gateway.secret(name)).unwrap_or_else(|fault| {
            refuse(fault, "key");
            Keyring::default()
        });
        let tickets = gateway.secret("TICKET_KEYS").map(|text| TicketKeys::parse(&text));
        let tickets =
            tickets.unwrap_or_else(|| Ok(TicketKeys::default())).unwrap_or_else(|fault| {
                refuse(fault, "ticket");
                TicketKeys::default()
            });
        let providers = gateway.secret("IDENTITY_PROVIDERS").filter(|text| !text.is_empty());
        let tokens = providers.map(|text| Providers::parse(&text).map(TokenCheck::new));
        if let Some(Err(fault)) = &tokens {
            refuse(fault.message.clone(), "token");
        }
        let users = LoggedUsers::parse(gateway.secret("LOG_USERS").as_deref());
        let users = users.unwrap_or_else(|| {
            warn(gateway, "LOG_USERS must be hash, plain or none; it counts as hash.");
            LoggedUsers::default()
        });
        Self { keyring: (!is_open).then_some(keyring), tickets, tokens, users }
    }

    /// Whether a request must show a credential.
    pub(super) fn are_asked_for(&self) -> bool {
        self.keyring.is_some()
    }

    /// The caller of an endpoint that needs one.
    pub(super) async fn admit<G: Gateway>(
        &self,
        gateway: &G,
        head: &RequestHead<'_>,
        origins: &AllowedOrigins,
        now_ms: u64,
    ) -> Result<Caller, Refused> {
        self.admit_open(head, origins)?;
        let authorization = head.header("Authorization");
        let presented = Presented::of(authorization.as_deref());
        let of_key = |caller| Ok(for_user(head, of_tenant(head, caller)?)?);
        if let Some(ticket) = query_members(head.target(), "Ticket").next() {
            let caller = self.admit_ticket(head, &decoded(ticket)?, now_ms)?;
            let may_stand = matches!(
                &caller.credential,
                Credential::Ticket(ticket) if ticket.may_stand_in_a_url(now_ms)
            );
            return if may_stand { Ok(caller) } else { Err(unauthenticated(NOT_FOR_A_URL)) };
        }
        match (presented, &self.keyring, &self.tokens) {
            (Presented::Ticket(ticket), ..) => self.admit_ticket(head, ticket, now_ms),
            (Presented::Token(token), _, Some(tokens)) => {
                let tokens = tokens.as_ref().map_err(Fault::clone)?;
                let verified = tokens.verify(gateway, token).boxed_local().await;
                Ok(for_user(head, verified.map_err(refused_token)?)?)
            }
            (_, None, _) => of_key(Caller::local()),
            (Presented::Key(key), Some(keyring), _) => {
                keyring.find(key).ok_or_else(|| unauthenticated("key: unknown")).and_then(of_key)
            }
            (Presented::Token(_), Some(_), None) => Err(unauthenticated("jwt: no provider")),
            (Presented::Nothing, Some(_), _) => Err(unauthenticated("none")),
        }
    }

    /// While no key protects an endpoint, refuses a request from elsewhere. Endpoints that show nothing of a
    /// tenant stay open to everyone.
    pub(super) fn admit_open(
        &self,
        head: &RequestHead<'_>,
        origins: &AllowedOrigins,
    ) -> Result<()> {
        if self.keyring.is_some() { Ok(()) } else { admit_local(head, origins) }
    }

    fn admit_ticket(
        &self,
        head: &RequestHead<'_>,
        text: &str,
        now_ms: u64,
    ) -> Result<Caller, Refused> {
        let verified = self.tickets.verify(text);
        let ticket = verified.map_err(unauthenticated)?;
        if ticket.is_late(now_ms) {
            return Err(barred(credential_expired(), "ticket: late"));
        }
        let is_same_origin = || head.header("Sec-Fetch-Site").as_deref() == Some("same-origin");
        if ticket.origins.is_some()
            && !ticket.permits_page(head.header("Origin").as_deref(), is_same_origin())
        {
            return Err(unauthenticated("ticket: origin"));
        }
        Ok(for_user(head, Caller::with_ticket(ticket))?)
    }
}

/// Refuses a ticket in any URL but a stream's, twice in a URL, or beside `Authorization`, whatever else the URL has: it may
/// stand in logs and histories by then.
pub(super) fn refuse_ticket_in_url(head: &RequestHead<'_>) -> Result<(), Refused> {
    let target = head.target();
    let tickets = query_members(target, "Ticket").count();
    if tickets == 0 {
        return Ok(());
    }
    let is_alone = tickets == 1 && head.header("Authorization").is_none();
    let path = target.split('?').next().unwrap_or(target);
    match Route::find(head.method, path) {
        Ok(Route::Turn(_, _, TurnRoute::Stream)) if is_alone => Ok(()),
        _ => Err(unauthenticated(NOT_FOR_A_URL)),
    }
}

/// The caller with a key of all tenants, at the tenant that the request names; any other caller as it is.
fn of_tenant(head: &RequestHead<'_>, caller: Caller) -> Result<Caller> {
    if caller.tenant != ALL_TENANTS {
        return Ok(caller);
    }
    let named =
        head.header(TENANT).filter(|tenant| is_tenant_name(tenant) && tenant != ALL_TENANTS);
    let tenant = named.ok_or_else(|| {
        let message =
            format!("This key is for all tenants: name one of them in the header {TENANT}.");
        Fault::new(ErrorCode::InvalidField, message).at("/Tenant")
    })?;
    Ok(Caller { tenant, ..caller })
}

/// The caller, acting for the user whom the request names.
fn for_user(head: &RequestHead<'_>, caller: Caller) -> Result<Caller> {
    let Some(user) = head.header(USER) else { return Ok(caller) };
    caller.permit_naming()?;
    Ok(caller.acting_for(user_of(&user)?))
}

/// The user that the header names.
fn user_of(header: &str) -> Result<UserId> {
    let refused = |message: String| Fault::new(ErrorCode::InvalidField, message).at("/User");
    if !header.is_ascii() {
        return Err(refused(format!(
            "The header {USER} holds characters that are not ASCII, which reach the service changed. Percent-encode the user as UTF-8."
        )));
    }
    if !is_well_encoded(header) {
        return Err(refused(format!(
            "The header {USER} holds a % that two hexadecimal digits do not follow. Percent-encode the user."
        )));
    }
    let text = decoded(header).map_err(|fault| refused(fault.message))?;
    UserId::parse(&text)
        .ok_or_else(|| refused(format!("The user in the header {USER} {}.", UserId::RULE)))
}

/// Whether each `%` begins an encoded byte.
fn is_well_encoded(text: &str) -> bool {
    let mut after = text.split('%').skip(1);
    after.all(|after| {
        let mut digits = after.bytes().take(2);
        let mut is_digit = || digits.next().is_some_and(|digit| digit.is_ascii_hexdigit());
        is_digit() && is_digit()
    })
}

fn refused_token(refusal: Refusal) -> Refused {
    match refusal {
        Refusal::Invalid(reason) => unauthenticated(reason),
        Refusal::Expired => barred(credential_expired(), "jwt: late"),
        Refusal::Unavailable { retry_after_ms } => {
            let message = "The identity provider's keys cannot be had at the moment. Wait as Retry-After says, and send the request again.";
            let fault = Fault::new(ErrorCode::IdentityUnavailable, message);
            // At least a second.
            barred(fault.with("RetryAfterMs", retry_after_ms.max(1)), "jwt: no keys")
        }
    }
}

fn unauthenticated(reason: &'static str) -> Refused {
    let message =
        "Send a valid key, ticket or token in the header Authorization: Bearer <credential>.";
    barred(Fault::new(ErrorCode::Unauthenticated, message), reason)
}

fn barred(fault: Fault, reason: &'static str) -> Refused {
    Refused { reason: Some(reason), ..fault.into() }
}

pub(super) fn warn<G: Gateway>(gateway: &G, message: &str) {
    gateway.log(json!({ "event": "gate", "level": "warn", "message": message }));
}
