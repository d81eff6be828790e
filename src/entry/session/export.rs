//! `GET …/export` (interface §1): one `InvokeResult`, sent turn by turn and of each turn piece by piece, so that a session
//! of any length fits into memory.

use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use serde::Serialize;

use super::exported_catalog::ExportedCatalog;
use crate::contract::{ErrorCode, Fault, InvokeResult, Result};
use crate::entry::request_context::RequestContext;
use crate::persistence::{EntryPlaces, EntrySeq, Session, SessionStore};
use crate::ports::Database;

/// The length at which a piece of a turn ends, in bytes.
const PIECE_BYTES: usize = 500_000;

/// The export of a session.
pub struct Export<D> {
    store: Rc<SessionStore<D>>,
    /// When the session began, which tells it from a later session of the same id.
    created_at: u64,
    /// The session, until its members have been sent.
    session: Option<Box<Session>>,
    /// The exported part of the catalog, JSON.
    catalog: Option<String>,
    /// Where the turns' entries stand.
    places: EntryPlaces,
    /// The ordinal of the last turn that was sent.
    sent: u64,
    /// What is still to be sent of that turn.
    rest: VecDeque<TurnPart>,
    /// The ordinal of the last turn to send. Turns that begin meanwhile are not part of the export.
    last: u64,
    /// The hashes of the texts that the turns refer to.
    texts: BTreeSet<String>,
    /// What is sent next.
    part: ExportPart,
}

/// What is sent of a turn behind its members.
enum TurnPart {
    Words(&'static str),
    Submission(u32),
    /// JSON, read together with the turn: it gets a number when another one follows.
    LatestSubmission(String),
    Entry(EntrySeq),
    Call((u32, u32)),
}

/// The parts behind the session's members, in their order.
#[derive(Clone, Copy, Debug)]
enum ExportPart {
    Turns,
    Texts,
    End,
}

impl<D: Database> Export<D> {
    /// The export of a session as it is now; without `Catalog` while the catalog is invalid.
    pub(super) fn new(
        store: Rc<SessionStore<D>>,
        session: Session,
        context: &RequestContext,
    ) -> Result<Self> {
        let catalog = match &context.catalog {
            Ok(catalog) => {
                let id = &session.agent_context;
                ExportedCatalog::of(catalog, id, &context.deployment).map(|part| json(&part))
            }
            Err(_) => None,
        };
        let catalog = catalog.transpose()?;
        let (created_at, last) = (session.created_at, store.newest_ordinal()?);
        let places = store.entry_places()?;
        let (session, texts) = (Some(Box::new(session)), BTreeSet::new());
        let (part, rest) = (ExportPart::Turns, VecDeque::new());
        Ok(Self { store, created_at, session, catalog, places, sent: 0, rest, last, texts, part })
    }

    /// The next piece of the document, `None` after the last. Fails with `session_not_found` when the
    /// session was erased meanwhile.
    pub(super) fn piece(&mut self) -> Result<Option<String>> {
        if let Some(session) = self.session.take() {
            return self.opening(*session).map(Some);
        }
        match self.part {
            ExportPart::Turns => self.turn().map(Some),
            ExportPart::Texts => self.text().map(Some),
            ExportPart::End => Ok(None),
        }
    }

    /// The session's members, the catalog, and the beginning of the turns.
    fn opening(&mut self, session: Session) -> Result<String> {
        self.refuse_after_erasure()?;
        let (opening, _) = InvokeResult::around_success();
        let session = json(&self.store.exported_session(session)?)?;
        let members = session.strip_suffix('}').unwrap_or(&session);
        let catalog = self.catalog.take().map(|catalog| format!(",\"Catalog\":{catalog}"));
        let catalog = catalog.unwrap_or_default();
        Ok(format!("{opening}{members}{catalog},\"Turns\":["))
    }

    /// The next turn, or the beginning of the texts.
    fn turn(&mut self) -> Result<String> {
        self.refuse_after_erasure()?;
        if !self.rest.is_empty() {
            return self.rest_of_turn();
        }
        let next = self.store.turn_after(Some(self.sent))?;
        let Some(turn) = next.filter(|turn| turn.ordinal <= self.last) else {
            self.part = ExportPart::Texts;
            return Ok("],\"Texts\":{".to_owned());
        };
        let comma = if self.sent == 0 { "" } else { "," };
        self.sent = turn.ordinal;
        let entries = self.store.entries_of(turn.ordinal, &self.places)?;
        let calls = self.store.call_places(turn.ordinal)?;
        let submissions = self.store.earlier_submissions(turn.ordinal)?;
        let latest = json(&self.store.latest_submission(&turn)?)?;
        let turn = self.store.exported_turn(turn)?;
        self.texts.extend(turn.texts().map(str::to_owned));
        self.rest.push_back(TurnPart::Words(",\"Submissions\":["));
        self.rest.extend(submissions.into_iter().map(TurnPart::Submission));
        self.rest.push_back(TurnPart::LatestSubmission(latest));
        self.rest.push_back(TurnPart::Words("],\"Conversation\":["));
        self.rest.extend(entries.into_iter().map(TurnPart::Entry));
        self.rest.push_back(TurnPart::Words("],\"ToolCalls\":["));
        self.rest.extend(calls.into_iter().map(TurnPart::Call));
        self.rest.push_back(TurnPart::Words("]}"));
        let members = json(&turn)?;
        Ok(format!("{comma}{}", members.strip_suffix('}').unwrap_or(&members)))
    }

    /// The next piece of the turn whose members were sent.
    fn rest_of_turn(&mut self) -> Result<String> {
        let mut piece = String::new();
        while piece.len() < PIECE_BYTES
            && let Some(part) = self.rest.pop_front()
        {
            let item = match part {
                TurnPart::Words(words) => {
                    piece.push_str(words);
                    continue;
                }
                TurnPart::Submission(number) => {
                    json(&self.store.exported_submission(self.sent, number)?)?
                }
                TurnPart::LatestSubmission(submission) => submission,
                TurnPart::Entry(entry) => json(&self.store.exported_entry(entry)?)?,
                TurnPart::Call(place) => json(&self.store.call_at(self.sent, place)?)?,
            };
            piece.push_str(&item);
            if !matches!(self.rest.front(), None | Some(TurnPart::Words(_))) {
                piece.push(',');
            }
        }
        Ok(piece)
    }

    /// The next text, or the end of the document.
    fn text(&mut self) -> Result<String> {
        self.refuse_after_erasure()?;
        let Some(hash) = self.texts.pop_first() else {
            self.part = ExportPart::End;
            let (_, ending) = InvokeResult::around_success();
            return Ok(format!("}}}}{ending}"));
        };
        let comma = if self.texts.is_empty() { "" } else { "," };
        let text = json(&self.store.text(&hash)?)?;
        Ok(format!("{}:{text}{comma}", json(&hash)?))
    }

    fn refuse_after_erasure(&self) -> Result<()> {
        let is_same = |session: Session| session.created_at == self.created_at;
        match self.store.session()?.is_some_and(is_same) {
            true => Ok(()),
            false => {
                Err(Fault::new(ErrorCode::SessionNotFound, "The session was erased meanwhile."))
            }
        }
    }
}

fn json(part: &impl Serialize) -> Result<String> {
    serde_json::to_string(part).map_err(|_| Fault::unwritable("A part of the export"))
}
