//! The credentials of users: a key that acts for them, and tickets, some of which a revocation has made void.

use std::cell::Cell;
use std::rc::Rc;

use bed::*;
use serde_json::json;

/// Who decides on guarded calls; the catalog says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Anyone,
    Actor,
    Key,
}

impl By {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Anyone => "Anyone",
            Self::Actor => "Actor",
            Self::Key => "Key",
        }
    }
}

/// A ticket that somebody holds.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) user: &'static str,
    pub(super) text: String,
    /// It is used by another actor, who may decide and asks for nothing.
    pub(super) decides: bool,
    /// It was issued before a revocation of its user was confirmed.
    pub(super) is_void: Cell<bool>,
}

/// What a request is sent with.
#[derive(Clone, Debug)]
pub(super) enum Credential {
    Key(&'static str),
    Ticket(Rc<Held>),
}

impl Credential {
    pub(super) fn is_void(&self) -> bool {
        match self {
            Self::Key(_) => false,
            Self::Ticket(held) => held.is_void.get(),
        }
    }

    /// Whether it may ask for something.
    pub(super) fn asks(&self) -> bool {
        match self {
            Self::Key(_) => true,
            Self::Ticket(held) => !held.decides,
        }
    }

    /// Whether it may decide on guarded calls.
    pub(super) fn may_decide(&self, by: By) -> bool {
        match (self, by) {
            (Self::Key(_), By::Anyone | By::Key) => true,
            (Self::Ticket(held), By::Anyone | By::Actor) => held.decides && !held.is_void.get(),
            (Self::Key(_), By::Actor) | (Self::Ticket(_), By::Key) => false,
        }
    }

    pub(super) fn send(&self, bed: &Bed, method: &str, target: &str, body: &str) -> Pending {
        match self {
            Self::Key(user) => bed.ask(method, target, &[("Aptix-User", user)], body),
            Self::Ticket(held) => {
                let bearer = format!("Bearer {}", held.text);
                bed.ask(method, target, &[("Authorization", &bearer)], body)
            }
        }
    }
}

/// Mints a ticket: of somebody who asks, or of somebody who decides.
pub(super) fn mint(bed: &Bed, user: &'static str, decides: bool) -> Option<Rc<Held>> {
    let asks = json!({
        "User": user, "Workspaces": ["w"], "ExpiresInS": 3600,
        "Operations": ["Execute", "Answer", "Watch", "Read", "Cancel", "List", "Search", "Erase"],
    });
    let decider = json!({
        "User": user, "Actor": "carol", "Workspaces": ["w"], "ExpiresInS": 3600,
        "Operations": ["Answer", "Approve", "Read", "List", "Search"],
    });
    let body = if decides { decider } else { asks };
    let minted = bed.wait(&bed.ask("POST", "/tickets", &[], &body.to_string()))?;
    let text = minted.result()["Ticket"].as_str().unwrap().to_owned();
    Some(Rc::new(Held { user, text, decides, is_void: Cell::new(false) }))
}
