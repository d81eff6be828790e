//! Minting (`POST /tickets`; interface §13): a key mints a ticket for a user, and a ticket a narrower one.

use super::caller::{Caller, Credential};
use super::grants::covers;
use super::ticket::Ticket;
use super::ticket_keys::{LONGEST_BYTES, TicketKeys};
use crate::contract::{ErrorCode, Fault, Operation, Result, TicketRequest, UserId, shown};
use crate::encoding::timestamp;

/// How long a ticket is valid when the request says nothing, in seconds.
const DEFAULT_LIFE_S: u64 = 600;

shown! {
    /// The result of `POST /tickets`.
    pub struct MintedTicket {
        ticket: String,
        pub ticket_id: String,
        expires_at: String,
        pub user: UserId,
        pub operations: Vec<Operation>,
        /// For the log: how long it is valid, and how many sessions it names; `None` for all of the user's.
        #[serde(skip)]
        pub seconds: u64,
        #[serde(skip)]
        pub sessions: Option<usize>,
    }
}

/// Mints a ticket under a new id, at `now_ms`, with the caller's key, or with a ticket, which narrows itself.
///
/// # Errors
/// `forbidden` where a ticket asks for more than it permits, and without a key that signs; `invalid_field` for a
/// ticket that would be too long.
pub fn mint(
    keys: &TicketKeys,
    caller: &Caller,
    asked: TicketRequest,
    id: String,
    now_ms: u64,
) -> Result<MintedTicket> {
    let signed_by = keys.signing_id().ok_or_else(no_keys)?.to_owned();
    let now_s = now_ms / 1000;
    let expires_at_s = now_s.saturating_add(asked.expires_in_s.unwrap_or(DEFAULT_LIFE_S));
    let ticket = match &caller.credential {
        Credential::Key { id: minted_with, .. } => Ticket {
            signed_by,
            id,
            tenant: caller.tenant.clone(),
            user: asked.user.ok_or_else(|| Fault::internal("The request names no user."))?,
            actor: asked.actor,
            sessions: asked.sessions,
            turns: asked.turns,
            operations: distinct(asked.operations.unwrap_or(Operation::DEFAULT.to_vec())),
            workspaces: asked.workspaces.unwrap_or_default(),
            contexts: asked.contexts,
            turn_tokens: asked.turn_tokens,
            origins: asked.origins,
            issued_at_s: now_s,
            expires_at_s,
            minted_with: minted_with.clone(),
        },
        Credential::Ticket(parent) => {
            let expires_at_s = expires_at_s.min(parent.expires_at_s);
            Ticket { signed_by, id, expires_at_s, ..narrowed(parent.as_ref().clone(), asked)? }
        }
        Credential::Provider { .. } => return Err(Fault::internal("A token mints a ticket.")),
    };
    let text = keys.sign(&ticket)?.ok_or_else(no_keys)?;
    if text.len() > LONGEST_BYTES {
        let message = format!(
            "The ticket would be longer than {LONGEST_BYTES} bytes. Name less in its lists, or the beginning of the ids of sessions with one * at the end."
        );
        return Err(Fault::new(ErrorCode::InvalidField, message));
    }
    Ok(MintedTicket {
        ticket: text,
        ticket_id: ticket.id,
        expires_at: timestamp(ticket.expires_at_s.saturating_mul(1000)),
        user: ticket.user,
        operations: ticket.operations,
        seconds: ticket.expires_at_s.saturating_sub(now_s),
        sessions: ticket.sessions.as_ref().map(Vec::len),
    })
}

/// The parent with what the request narrows. A member that the request leaves out is inherited.
fn narrowed(parent: Ticket, asked: TicketRequest) -> Result<Ticket> {
    let is_same = |asked: &Option<UserId>, own: Option<&UserId>| {
        asked.as_ref().is_none_or(|asked| Some(asked) == own)
    };
    if !is_same(&asked.user, Some(&parent.user)) {
        return Err(wider("User"));
    }
    if !is_same(&asked.actor, parent.actor.as_ref()) {
        return Err(wider("Actor"));
    }
    let turn_tokens = match (asked.turn_tokens, parent.turn_tokens) {
        (Some(asked), Some(own)) if asked > own => return Err(wider("TurnTokens")),
        (asked, own) => asked.or(own),
    };
    let (operations, workspaces) = (Some(parent.operations), Some(parent.workspaces));
    let operations = within("Operations", asked.operations, operations, PartialEq::eq)?;
    let workspaces = within("Workspaces", asked.workspaces, workspaces, PartialEq::eq)?;
    Ok(Ticket {
        operations: distinct(operations.unwrap_or_default()),
        workspaces: workspaces.unwrap_or_default(),
        sessions: within("Sessions", asked.sessions, parent.sessions, |own, asked| {
            covers(own, asked)
        })?,
        turns: within("Turns", asked.turns, parent.turns, PartialEq::eq)?,
        contexts: within("Contexts", asked.contexts, parent.contexts, PartialEq::eq)?,
        origins: within("Origins", asked.origins, parent.origins, |own, asked| {
            own.eq_ignore_ascii_case(asked)
        })?,
        turn_tokens,
        ..parent
    })
}

/// The list that holds: the own one where none is asked for. A list with something that the own one does not cover is
/// refused.
fn within<T>(
    member: &str,
    asked: Option<Vec<T>>,
    own: Option<Vec<T>>,
    covers: impl Fn(&T, &T) -> bool,
) -> Result<Option<Vec<T>>> {
    let Some(asked) = asked else { return Ok(own) };
    let is_within = own
        .as_ref()
        .is_none_or(|own| asked.iter().all(|asked| own.iter().any(|own| covers(own, asked))));
    if is_within { Ok(Some(asked)) } else { Err(wider(member)) }
}

/// The operations in their order, each once.
fn distinct(operations: Vec<Operation>) -> Vec<Operation> {
    Operation::ALL.iter().copied().filter(|operation| operations.contains(operation)).collect()
}

fn wider(member: &str) -> Fault {
    let message =
        format!("{member} asks for more than the ticket permits that this request was sent with.");
    Fault::new(ErrorCode::Forbidden, message).at(format!("/{member}"))
}

/// `forbidden`: the deployment mints no tickets.
fn no_keys() -> Fault {
    let message = "This deployment mints no tickets: the operator has set no valid TICKET_KEYS.";
    Fault::new(ErrorCode::Forbidden, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{TurnId, parse_ticket_request};
    use crate::identity::Rights;

    const NOW: u64 = 1_700_000_000_000;

    fn keys() -> TicketKeys {
        let secret = crate::encoding::base64_of(&[7; 32]);
        TicketKeys::parse(&format!(r#"[{{"Id":"a","Secret":"{secret}"}}]"#)).unwrap()
    }

    fn key() -> Caller {
        Caller::with_key("acme".to_owned(), "k1".to_owned(), Rights::ALL)
    }

    fn by_key(body: &str) -> Ticket {
        let asked = parse_ticket_request(body.as_bytes(), true).unwrap();
        let minted = mint(&keys(), &key(), asked, "tk_1".to_owned(), NOW).unwrap();
        keys().verify(&minted.ticket).unwrap()
    }

    fn by_ticket(parent: &Ticket, body: &str) -> Result<Ticket> {
        let parent = Caller::with_ticket(parent.clone());
        let asked = parse_ticket_request(body.as_bytes(), false).unwrap();
        let minted = mint(&keys(), &parent, asked, "tk_2".to_owned(), NOW + 5_000)?;
        Ok(keys().verify(&minted.ticket).unwrap())
    }

    #[test]
    fn a_key_s_ticket_lives_ten_minutes_and_permits_the_usual() {
        let ticket = by_key(r#"{"User":"alice"}"#);
        assert_eq!((ticket.issued_at_s, ticket.expires_at_s), (1_700_000_000, 1_700_000_600));
        assert_eq!(ticket.operations, Operation::DEFAULT);
        assert_eq!((ticket.minted_with.as_str(), ticket.workspaces.len()), ("k1", 0));
        assert!(!ticket.is_late(NOW + 599_999) && ticket.is_late(NOW + 600_000));
    }

    #[test]
    fn a_ticket_of_a_clock_that_was_set_back_is_late() {
        let ticket = by_key(r#"{"User":"alice","ExpiresInS":3600}"#);
        assert!(!ticket.is_late(NOW - 300_000) && ticket.is_late(NOW - 301_000));
    }

    #[test]
    fn a_ticket_narrows_itself_in_each_member_and_never_widens() {
        let parent = by_key(
            r#"{"User":"alice","Actor":"bob","Sessions":["chat-*","one"],"Operations":["Watch","Read"],
                "Workspaces":["w"],"Contexts":["default"],"TurnTokens":100,
                "Origins":["https://a.example"],"Turns":["t1","t2"],"ExpiresInS":60}"#,
        );
        let same = by_ticket(&parent, "{}").unwrap();
        assert_eq!(Ticket { id: parent.id.clone(), ..same }, parent);
        let narrow = by_ticket(
            &parent,
            r#"{"Sessions":["chat-1"],"Operations":["Watch"],"Turns":["t1"],"TurnTokens":50,
                "Workspaces":[],"User":"alice","Actor":"bob","ExpiresInS":3600}"#,
        )
        .unwrap();
        assert_eq!(narrow.expires_at_s, parent.expires_at_s);
        assert_eq!(narrow.issued_at_s, parent.issued_at_s);
        assert_eq!(narrow.turns, Some(vec![TurnId::parse("t1").unwrap()]));
        assert!(narrow.may_stand_in_a_url(NOW) && !parent.may_stand_in_a_url(NOW));
        for (member, wider) in [
            ("User", r#"{"User":"bob"}"#),
            ("Actor", r#"{"Actor":"alice"}"#),
            ("Sessions", r#"{"Sessions":["chat-1","two"]}"#),
            ("Sessions", r#"{"Sessions":["*"]}"#),
            ("Sessions", r#"{"Sessions":["chat"]}"#),
            ("Operations", r#"{"Operations":["Watch","Execute"]}"#),
            ("Workspaces", r#"{"Workspaces":["w","v"]}"#),
            ("Contexts", r#"{"Contexts":["other"]}"#),
            ("TurnTokens", r#"{"TurnTokens":101}"#),
            ("Origins", r#"{"Origins":["https://b.example"]}"#),
            ("Turns", r#"{"Turns":["t3"]}"#),
        ] {
            let refused = by_ticket(&parent, wider).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Forbidden, "{wider}");
            assert_eq!(refused.path, Some(format!("/{member}")));
        }
    }

    #[test]
    fn a_page_is_let_in_by_its_origin() {
        let ticket = by_key(r#"{"User":"alice","Origins":["https://a.example"]}"#);
        for (origin, same, permitted) in [
            (Some("https://a.example"), false, true),
            (Some("https://b.example"), true, false),
            (Some("null"), false, false),
            (None, true, true),
            (None, false, false),
        ] {
            assert_eq!(ticket.permits_page(origin, same), permitted, "{origin:?} {same}");
        }
        assert!(by_key(r#"{"User":"alice"}"#).permits_page(Some("null"), false));
    }

    #[test]
    fn without_a_key_nothing_is_minted_and_a_ticket_has_a_longest_form() {
        let mint_with = |keys: &TicketKeys, body: String| {
            let asked = parse_ticket_request(body.as_bytes(), true).unwrap();
            mint(keys, &key(), asked, "tk_1".to_owned(), NOW).unwrap_err()
        };
        let none = mint_with(&TicketKeys::default(), r#"{"User":"a"}"#.to_owned());
        assert_eq!(none.code, ErrorCode::Forbidden);
        let long = vec![format!("\"{}\"", "s".repeat(128)); 50].join(",");
        for list in ["Sessions", "Turns", "Workspaces", "Contexts"] {
            let long = mint_with(&keys(), format!(r#"{{"User":"a","{list}":[{long}]}}"#));
            assert_eq!(long.code, ErrorCode::InvalidField);
            assert!(long.message.contains("less in its lists"), "{long}");
        }
    }
}
