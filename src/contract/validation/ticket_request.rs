//! Reading the body of `POST /tickets` (interface §13).

use super::reader::Reader;
use super::request_object::request_object;
use crate::contract::{Fault, Operation, SessionId, TurnId, UserId, limits};
use crate::encoding::authority_of;
use crate::json::{Node, ObjectShape};

request_object! {
    /// The request for a ticket. A member that is absent is inherited where a ticket narrows itself.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct TicketRequest as TICKET by shape, fn ticket(reader, node, shape: ObjectShape) {
        "User" asked => user: Option<UserId> = user(),
        /// Who uses the ticket, where that is not the user.
        "Actor" => actor: Option<UserId> = user(),
        /// Sessions by their ids; one `*` at the end stands for any rest.
        "Sessions" => sessions: Option<Vec<String>> = full_list(limits::TICKET_LIST, "session", |reader, node| {
            reader.checked_text(limits::IDENTIFIER, session_problem, node)
        }),
        "Turns" => turns: Option<Vec<TurnId>> = full_list(limits::TICKET_LIST, "turn", |reader, node| {
            reader.identifier(TurnId::parse, node)
        }),
        "Operations" => operations: Option<Vec<Operation>> =
            full_list(limits::TICKET_LIST, "operation", Reader::one_of),
        "Workspaces" => workspaces: Option<Vec<String>> = list(limits::TICKET_LIST, |reader, node| {
            reader.full_text(limits::WORKSPACE_ID, node)
        }),
        /// Conversation contexts that a session's first turn may name.
        "Contexts" => contexts: Option<Vec<String>> = full_list(limits::TICKET_LIST, "context", |reader, node| {
            reader.full_text(limits::IDENTIFIER, node)
        }),
        /// The most tokens of a turn.
        "TurnTokens" => turn_tokens: Option<u64> = integer_from(1, LARGEST_TOKENS),
        /// Origins of the pages that may use the ticket.
        "Origins" => origins: Option<Vec<String>> = full_list(limits::TICKET_LIST, "origin", |reader, node| {
            reader.checked_text(limits::ORIGIN, origin_problem, node)
        }),
        /// How long it is valid, 10 to 3,600 seconds.
        "ExpiresInS" => expires_in_s: Option<u64> = integer_from(10, 3_600),
    }
}

/// Reads the body; `names_user` where the request must name a user: a key names one, and a ticket that narrows itself has
/// one.
pub fn parse_ticket_request(body: &[u8], names_user: bool) -> Result<TicketRequest, Vec<Fault>> {
    let shape = if names_user { TICKET } else { TICKET.without_required() };
    Reader::read_body(body, |reader, node| reader.ticket(node, shape))
}

/// The largest integer that every JSON implementation can hold exactly.
const LARGEST_TOKENS: u64 = 1 << 53;

impl Reader {
    /// The name of a user or an actor.
    fn user(&mut self, node: Node<'_, '_>) -> Option<UserId> {
        let text = node.text(self)?;
        UserId::parse(&text).or_else(|| self.refuse(node, UserId::RULE))
    }

    /// An integer in a range.
    fn integer_from(&mut self, least: u64, most: u64, node: Node<'_, '_>) -> Option<u64> {
        let number = self.integer(node)?;
        if (least..=most).contains(&number) {
            return Some(number);
        }
        let problem = match most {
            LARGEST_TOKENS => format!("must be {least} or more"),
            most => format!("must be from {least} to {most}"),
        };
        self.refuse(node, &problem)
    }
}

fn session_problem(text: &str) -> Option<&'static str> {
    let is_pattern = match text.strip_suffix('*') {
        Some("") => true,
        Some(start) => SessionId::parse(start).is_ok() || matches!(start, "." | ".."),
        None => SessionId::parse(text).is_ok(),
    };
    (!is_pattern).then_some("must be a SessionId, or the beginning of some with one * at its end")
}

fn origin_problem(text: &str) -> Option<&'static str> {
    let is_origin = authority_of(text).is_some_and(|authority| {
        !authority.is_empty() && !authority.contains(['/', '?', '#', '@', '*'])
    });
    (!is_origin).then_some("must be an origin such as https://app.example.com, without a path")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{ErrorCode, Operation};

    #[test]
    fn a_request_names_what_the_ticket_is_for() {
        let body = br#"{"User":"alice","Actor":"support:bob","Sessions":["chat-1","draft-*"],
            "Turns":["t1"],"Operations":["Watch"],"Workspaces":["handbook"],"Contexts":["default"],
            "TurnTokens":50000,"Origins":["https://app.example.com"],"ExpiresInS":60}"#;
        let asked = parse_ticket_request(body, true).unwrap();
        assert_eq!(asked.user, UserId::parse("alice"));
        assert_eq!(asked.sessions.unwrap(), ["chat-1", "draft-*"]);
        assert_eq!(asked.operations.unwrap(), [Operation::Watch]);
        assert_eq!((asked.turn_tokens, asked.expires_in_s), (Some(50_000), Some(60)));
        assert_eq!(parse_ticket_request(b"{}", false).unwrap(), TicketRequest::default());
    }

    #[test]
    fn every_fault_names_its_member() {
        let body = br#"{"User":" alice","Actor":"","Sessions":["a*b","*"],"Turns":["."],
            "Operations":["Mint"],"Workspaces":[""],"Contexts":[],"TurnTokens":0,
            "Origins":["app.example.com"],"ExpiresInS":5,"Tenant":"other"}"#;
        let faults = parse_ticket_request(body, true).unwrap_err();
        let found: Vec<(ErrorCode, &str)> =
            faults.iter().map(|fault| (fault.code, fault.path.as_deref().unwrap())).collect();
        let invalid = ErrorCode::InvalidField;
        assert_eq!(
            found,
            [
                (invalid, "/User"),
                (invalid, "/Actor"),
                (invalid, "/Sessions/0"),
                (invalid, "/Turns/0"),
                (invalid, "/Operations/0"),
                (invalid, "/Workspaces/0"),
                (invalid, "/Contexts"),
                (invalid, "/TurnTokens"),
                (invalid, "/Origins/0"),
                (invalid, "/ExpiresInS"),
                (ErrorCode::UnknownField, "/Tenant"),
            ]
        );
        let faults = parse_ticket_request(b"{}", true).unwrap_err();
        assert_eq!(faults[0].code, ErrorCode::MissingField);
        assert_eq!(faults[0].path.as_deref(), Some("/User"));
    }
}
