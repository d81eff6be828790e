//! Reading the body of `POST /tickets` (interface §13).

use super::body::object_text;
use super::reader::Reader;
use crate::contract::fault::Fault;
use crate::contract::identifiers::{SessionId, TurnId};
use crate::contract::limits;
use crate::contract::ticket_request::TicketRequest;
use crate::contract::user_id::UserId;
use crate::encoding::authority_of;
use crate::json::{Node, ObjectShape};

const MEMBERS: &[&str] = &[
    "User",
    "Actor",
    "Sessions",
    "Turns",
    "Operations",
    "Workspaces",
    "Contexts",
    "TurnTokens",
    "Origins",
    "ExpiresInS",
];

/// A key names the user; a ticket that narrows itself has one.
const BY_KEY: ObjectShape = ObjectShape::new(MEMBERS, &["User"]);
const BY_TICKET: ObjectShape = ObjectShape::new(MEMBERS, &[]);

/// Reads the body; `names_user` where the request must name a user.
pub fn parse_ticket_request(body: &[u8], names_user: bool) -> Result<TicketRequest, Vec<Fault>> {
    let body = object_text(body)?;
    let mut reader = Reader::default();
    let mut asked = TicketRequest::default();
    let shape = if names_user { BY_KEY } else { BY_TICKET };
    shape.read(Node::root(body), &mut reader, |name, node, reader| match name {
        "User" => asked.user = reader.user(node),
        "Actor" => asked.actor = reader.user(node),
        "Sessions" => {
            asked.sessions =
                reader.full_list(limits::TICKET_LIST, "session", node, |node, reader| {
                    reader.checked_text(limits::IDENTIFIER, session_problem, node)
                });
        }
        "Turns" => {
            asked.turns = reader.full_list(limits::TICKET_LIST, "turn", node, |node, reader| {
                reader.identifier(TurnId::parse, node)
            });
        }
        "Operations" => {
            asked.operations =
                reader.full_list(limits::TICKET_LIST, "operation", node, |node, reader| {
                    reader.one_of(node)
                });
        }
        "Workspaces" => {
            asked.workspaces = reader.list(limits::TICKET_LIST, node, |node, reader| {
                reader.full_text(limits::WORKSPACE_ID, node)
            });
        }
        "Contexts" => {
            asked.contexts =
                reader.full_list(limits::TICKET_LIST, "context", node, |node, reader| {
                    reader.full_text(limits::IDENTIFIER, node)
                });
        }
        "TurnTokens" => asked.turn_tokens = reader.integer_from(1, LARGEST_TOKENS, node),
        "Origins" => {
            asked.origins =
                reader.full_list(limits::TICKET_LIST, "origin", node, |node, reader| {
                    reader.checked_text(limits::ORIGIN, origin_problem, node)
                });
        }
        "ExpiresInS" => asked.expires_in_s = reader.integer_from(10, 3_600, node),
        _ => {}
    });
    reader.settle(Some(asked))
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
