//! Pages of the list of a user's sessions (interface §13): order, cursor, and what a page shows.

use serde::Serialize;

use super::index::UserIndex;
use super::records::IndexedSession;
use super::summary::SessionStatus;
use crate::contract::{Result, SessionId};
use crate::contract::{closed_list, json_text};
use crate::ports::{Database, SqlValue};

closed_list! {
    /// The order of a list; each has the newest sessions first.
    pub enum ListOrder {
        /// By the time at which a turn last changed the session.
        Activity = "Activity",
        /// By the time at which the session began.
        Created = "Created",
    }
}

impl ListOrder {
    /// What a cursor of this order begins with, the column that the order is by, and a session's time in it.
    fn form(self) -> (char, &'static str, fn(&IndexedSession) -> u64) {
        match self {
            Self::Activity => ('a', "active_at", |session| session.summary.active_at),
            Self::Created => ('c', "created_at", |session| session.summary.created_at),
        }
    }
}

/// The place behind a session in a list. Clients see it as a text that means nothing to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The session's time in the list's order, in milliseconds since the Unix epoch.
    at_ms: u64,
    session_id: SessionId,
}

impl Cursor {
    /// The place behind a session.
    pub fn behind(session: &IndexedSession, order: ListOrder) -> Self {
        let (_, _, time_of) = order.form();
        Self { at_ms: time_of(session), session_id: session.session_id.clone() }
    }

    /// Reads a cursor of a list in that order; `None` for any other text.
    pub fn parse(text: &str, order: ListOrder) -> Option<Self> {
        let (at_ms, id) = text.strip_prefix(order.form().0)?.split_once('.')?;
        let is_number = at_ms.len() <= 15 && at_ms.bytes().all(|byte| byte.is_ascii_digit());
        let at_ms = at_ms.parse().ok().filter(|_| is_number)?;
        Some(Self { at_ms, session_id: SessionId::parse(id).ok()? })
    }

    /// The cursor as text, whose characters stand in a URL as they are.
    pub fn text(&self, order: ListOrder) -> String {
        format!("{}{}.{}", order.form().0, self.at_ms, self.session_id)
    }
}

/// Which sessions a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFilter {
    pub order: ListOrder,
    /// Only sessions behind this place.
    pub after: Option<Cursor>,
    /// The largest number of sessions.
    pub limit: u32,
    pub status: Option<SessionStatus>,
    /// Part of a title; letters of ASCII are compared without case.
    pub query: Option<String>,
}

/// The listed sessions of a user by their status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct StatusCounts {
    pub running: u64,
    pub awaiting_tools: u64,
    pub awaiting_approval: u64,
    pub idle: u64,
    pub failed: u64,
}

impl<D: Database> UserIndex<D> {
    /// At most `most` sessions that the filter shows, in its order, registered ones among them, whatever their status:
    /// they have to be asked. `named` are the only sessions that the caller may see, each an id or the beginning of one
    /// with `*` behind it.
    pub fn page(
        &self,
        filter: &SessionFilter,
        named: Option<&[String]>,
        most: usize,
    ) -> Result<Vec<IndexedSession>> {
        let (_, column, _) = filter.order.form();
        let mut which = "WHERE listing_state IN ('registered', 'listed')".to_owned();
        let mut parameters: Vec<SqlValue> = Vec::new();
        if let Some(Cursor { at_ms, session_id }) = &filter.after {
            which += &format!(" AND {column} <= ? AND ({column} < ? OR session_id > ?)");
            parameters.extend([(*at_ms).into(), (*at_ms).into(), session_id.as_str().into()]);
        }
        if let Some(status) = filter.status {
            which += " AND (status = ? OR listing_state = 'registered')";
            parameters.push(status.as_str().into());
        }
        if let Some(query) = &filter.query {
            // LOWER knows letters of ASCII alone.
            which += " AND INSTR(LOWER(title), LOWER(?)) > 0";
            parameters.push(query.as_str().into());
        }
        if let Some(named) = named {
            which +=
                " AND EXISTS (SELECT 1 FROM JSON_EACH(?) AS named WHERE named.value = session_id
                OR SUBSTR(named.value, -1) = '*'
                    AND INSTR(session_id, SUBSTR(named.value, 1, LENGTH(named.value) - 1)) = 1)";
            let named = json_text("A grant", named)?;
            parameters.push(named.into());
        }
        which += &format!(" ORDER BY {column} DESC, session_id LIMIT ?");
        parameters.push(most.into());
        self.sessions(&which, &parameters)
    }

    /// The listed sessions by their status.
    pub fn count_by_status(&self) -> Result<StatusCounts> {
        let mut counts = StatusCounts::default();
        let statement =
            "SELECT status, COUNT(*) AS number FROM sessions WHERE listing_state = 'listed'
             GROUP BY status";
        for row in self.rows(statement, &[])? {
            let number = row.get("number")?;
            match row.get("status")? {
                SessionStatus::Running => counts.running = number,
                SessionStatus::AwaitingTools => counts.awaiting_tools = number,
                SessionStatus::AwaitingApproval => counts.awaiting_approval = number,
                SessionStatus::Idle => counts.idle = number,
                SessionStatus::Failed => counts.failed = number,
            }
        }
        Ok(counts)
    }
}

impl StatusCounts {
    /// The number of all.
    pub fn total(self) -> u64 {
        self.running + self.awaiting_tools + self.awaiting_approval + self.idle + self.failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_in_its_own_order_only() {
        let cursor = Cursor { at_ms: 17, session_id: SessionId::parse("a.b:c").unwrap() };
        let text = cursor.text(ListOrder::Activity);
        assert_eq!(Cursor::parse(&text, ListOrder::Activity), Some(cursor));
        assert_eq!(Cursor::parse(&text, ListOrder::Created), None);
        for text in ["", "a", "a1", "a1.", "a.x", "a+1.x", "a-1.x", "a1.x/y", "a9999999999999999.x"]
        {
            assert_eq!(Cursor::parse(text, ListOrder::Activity), None, "{text}");
        }
    }
}
