//! The export of a session, `GET …/export` (interface §1): the session's own part, one part for each turn, and one for
//! each submission, each entry and each tool call of it, so that no export has to fit into memory: nothing bounds the
//! continuations and the steers of one turn.
//!
//! Each part is read without an await, so it is consistent in itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::SessionStore;
use super::entry_seq::EntrySeq;
use super::fork::ForkParent;
use super::other_contexts::ContextChange;
use super::records::{ModeChange, Session, Turn, from_json};
use super::steers::Steer;
use super::submission_origin::SubmissionOrigin;
use crate::contract::{
    CallerRecord, CatalogStamp, Result, SessionId, SteerContent, SteerId, SteerState, TurnId,
    TurnStatus, Usage, Warning, shown,
};
use crate::encoding::{sparse_object, timestamp};
use crate::ports::{Database, Row, read_row};

/// The members of a transcript that name a kept text.
const REFERENCES: [&str; 2] = ["Template", "Summarised"];

shown! {
    /// The session's own part.
    pub(crate) struct ExportedSession {
        session_id: SessionId,
        created_at: String,
        updated_at: String,
        agent_context_id: String,
        conversation_context_id: String,
        /// The one that the first turn asked for, where that is another.
        asked_context_id?: Option<String>,
        /// Absent unless the session is a fork.
        parent?: Option<ForkParent>,
        /// Mode key.
        mode: String,
        /// The definitions of the latched client tools, as the model service takes them.
        client_tools?: Option<Vec<Box<RawValue>>>,
        solution_context_text?: Option<String>,
        /// The model service's id of its last response.
        response_continuation_id?: Option<String>,
        mode_history: Vec<ModeChange>,
    }

    /// A turn with all that belongs to it, but its submissions, its entries and its tool calls.
    pub(crate) struct ExportedTurn {
        turn_id: TurnId,
        status: TurnStatus,
        streaming: bool,
        started_at: String,
        updated_at: String,
        attempts: u32,
        /// The tool list, fixed when the turn began.
        tools: Vec<ExportedTool>,
        /// The composition trace of the turn's message.
        composition: Box<RawValue>,
        tool_choice_name?: Option<String>,
        output_schema?: Option<Box<RawValue>>,
        output_schema_name?: Option<String>,
        /// The session went on under another conversation context with this turn.
        context_changed?: Option<ContextChange>,
        /// The text beside the calls that the model made last.
        said_with_calls?: Option<String>,
        text_so_far?: Option<String>,
        usage?: Option<Usage>,
        user_warnings?: Vec<String>,
        warnings?: Vec<Warning>,
        /// In the order of acceptance; absent where there are none.
        steers?: Vec<ExportedSteer>,
        model_calls: Vec<Map<String, Value>>,
    }
}

sparse_object! {
    /// A tool of a turn's list; it is stored with other names.
    #[derive(Debug, Serialize, Deserialize)]
    #[serde(rename_all(serialize = "PascalCase"))]
    pub(crate) struct ExportedTool {
        /// As the model sees it.
        pub(crate) name: String,
        on_server: bool,
        /// The model service runs it by itself.
        hosted?: bool,
        /// How a human is asked before the server runs it.
        approval?: Option<Box<RawValue>>,
        /// Calls of it may run beside others that may.
        pub(crate) parallel?: bool,
        /// Where a tool of an MCP server is called: JSON.
        pub(crate) mcp?: Option<Box<RawValue>>,
        /// As the model service takes it.
        definition: Box<RawValue>,
    }
}

shown! {
    /// The user turn, or a tool continuation of it.
    pub(crate) struct ExportedSubmission {
        fingerprint: String,
        accepted_at: String,
        caller?: CallerRecord,
        catalog?: Option<CatalogStamp>,
        http_status?: Option<u16>,
        /// The `InvokeResult` as the client received it.
        outcome?: Option<Box<RawValue>>,
    }

    struct ExportedSteer {
        steer_id: SteerId,
        fingerprint: String,
        accepted_at: String,
        caller?: CallerRecord,
        state: SteerState,
        interrupted: bool,
        /// The turn's model call that took it, from 0.
        model_call?: Option<u32>,
        /// Its entry in the conversation.
        sequence?: Option<EntrySeq>,
        /// Its words, until they are in the conversation.
        #[serde(flatten)]
        content?: Option<SteerContent>,
    }

    pub(crate) struct ExportedEntry {
        sequence: EntrySeq,
        /// As [`super::EntryKind`] names it.
        kind: String,
        /// `kept`, `withheld` or `forgotten`.
        standing: String,
        /// Responses API items.
        items: Box<RawValue>,
    }
}

/// Where the conversation's entries stand, by their turns. No index leads from a turn to its entries, so an export looks
/// through the conversation once, and not once for each turn.
pub(crate) struct EntryPlaces {
    /// Of each turn, a JSON array.
    of_turns: BTreeMap<u64, String>,
    /// The newest entry of all.
    newest: EntrySeq,
}

impl ExportedTurn {
    /// The hashes of the kept texts that the model calls refer to.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let references = |call| REFERENCES.map(|name| Map::get(call, name).and_then(Value::as_str));
        self.model_calls.iter().flat_map(references).flatten()
    }
}

impl<D: Database> SessionStore<D> {
    /// The turn's tools that the server runs.
    pub(crate) fn tools_on_server(&self, turn: &Turn) -> Result<Vec<ExportedTool>> {
        let mut tools: Vec<ExportedTool> = from_json("tools", &self.text(&turn.tools)?)?;
        tools.retain(|tool| tool.on_server);
        Ok(tools)
    }

    /// Where the entries stand that the conversation has now.
    pub(crate) fn entry_places(&self) -> Result<EntryPlaces> {
        let statement =
            "SELECT turn, JSON_GROUP_ARRAY(seq) AS places FROM conversation GROUP BY turn";
        let rows = self.database.query(statement, &[])?;
        let places = |row: &Row| Ok((row.get("turn")?, row.get("places")?));
        let of_turns = rows.iter().map(places).collect::<Result<_>>()?;
        Ok(EntryPlaces { of_turns, newest: self.newest_entry()? })
    }

    /// A turn's entries, in their order. `places` may be older than the newest of them.
    pub(crate) fn entries_of(&self, turn: u64, places: &EntryPlaces) -> Result<Vec<EntrySeq>> {
        let known = places.of_turns.get(&turn).map_or("[]", String::as_str);
        let mut entries: Vec<EntrySeq> = from_json("places", known)?;
        entries.sort_unstable();
        if self.newest_entry()? > places.newest {
            let newer = "SELECT seq FROM conversation WHERE seq > ? AND turn = ? ORDER BY seq";
            for row in self.database.query(newer, &[places.newest.0.into(), turn.into()])? {
                entries.push(row.get("seq")?);
            }
        }
        Ok(entries)
    }

    /// An entry of the conversation.
    pub(crate) fn exported_entry(&self, entry: EntrySeq) -> Result<Option<ExportedEntry>> {
        let statement = "SELECT kind, entry_state, items FROM conversation WHERE seq = ?";
        let Some(row) = self.database.first(statement, &[entry.0.into()])? else {
            return Ok(None);
        };
        Ok(Some(ExportedEntry {
            sequence: entry,
            kind: row.get("kind")?,
            standing: row.get("entry_state")?,
            items: self.json(&row, "items")?,
        }))
    }

    /// The session's own part of its export.
    pub(crate) fn exported_session(&self, session: Session) -> Result<ExportedSession> {
        let (bound, asked) = (session.bound(), session.asked_conversation());
        let text = |hash: Option<String>| hash.map(|hash| self.text(&hash)).transpose();
        let tools = text(session.client_tools)?.map(|tools| from_json("client_tools", &tools));
        let tools: Option<Vec<(String, Box<RawValue>)>> = tools.transpose()?;
        Ok(ExportedSession {
            created_at: timestamp(session.created_at),
            updated_at: timestamp(session.updated_at),
            session_id: session.session_id,
            agent_context_id: bound.agent,
            conversation_context_id: bound.conversation,
            asked_context_id: asked,
            parent: session.state.fork.as_deref().map(ForkParent::of),
            mode: session.mode,
            client_tools: tools.map(|named| named.into_iter().map(|(_, tool)| tool).collect()),
            solution_context_text: text(session.solution_context)?,
            response_continuation_id: session.chain_head,
            mode_history: self.mode_history(None)?,
        })
    }

    /// The numbers of a turn's submissions before the latest, in their order.
    pub(crate) fn earlier_submissions(&self, turn: u64) -> Result<Vec<u32>> {
        let statement = "SELECT number FROM submissions WHERE turn = ? ORDER BY number";
        let rows = self.rows_of_calls(statement, &[turn.into()])?;
        rows.iter().map(|row| row.get("number")).collect()
    }

    /// A submission of a turn before the latest.
    pub(crate) fn exported_submission(
        &self,
        turn: u64,
        number: u32,
    ) -> Result<Option<ExportedSubmission>> {
        let statement = "SELECT * FROM submissions WHERE turn = ? AND number = ?";
        let rows = self.rows_of_calls(statement, &[turn.into(), number.into()])?;
        rows.first().map(|row| self.submission_in(row, row.json("caller")?)).transpose()
    }

    /// A turn's latest submission.
    pub(crate) fn latest_submission(&self, turn: &Turn) -> Result<Option<ExportedSubmission>> {
        let statement =
            "SELECT fingerprint, accepted_at, http_status, outcome FROM turns WHERE ordinal = ?";
        let row = self.database.first(statement, &[turn.ordinal.into()])?;
        let origin = SubmissionOrigin::of_latest(&turn.progress);
        row.map(|row| self.submission_in(&row, origin)).transpose()
    }

    fn submission_in(&self, row: &Row, origin: SubmissionOrigin) -> Result<ExportedSubmission> {
        let SubmissionOrigin { caller, catalog } = origin;
        Ok(read_row!(ExportedSubmission of row {
            fingerprint, http_status,
            accepted_at: timestamp(row.get("accepted_at")?),
            caller: caller,
            catalog: catalog,
            outcome: self.json(row, "outcome")?,
        }))
    }

    /// A turn's part of the export.
    pub(crate) fn exported_turn(&self, turn: Turn) -> Result<ExportedTurn> {
        let steers = self.exported_steers(&turn)?;
        let progress = turn.progress;
        let (schema_name, schema) =
            progress.output_schema.map(|stored| (stored.name, stored.schema)).unzip();
        let schema = schema.map(|hash| from_json("output_schema", &self.text(&hash)?));
        Ok(ExportedTurn {
            status: turn.status,
            streaming: progress.streaming,
            started_at: timestamp(turn.started_at),
            updated_at: timestamp(turn.updated_at),
            attempts: turn.attempts,
            tools: from_json("tools", &self.text(&turn.tools)?)?,
            composition: self.composition(turn.ordinal)?,
            tool_choice_name: progress.tool_choice,
            output_schema: schema.transpose()?,
            output_schema_name: schema_name,
            context_changed: progress.context_changed,
            said_with_calls: progress.text_with_calls.map(|(_, text)| text),
            text_so_far: progress.text_so_far,
            usage: progress.usage,
            user_warnings: progress.user_warnings,
            warnings: progress.warnings,
            steers,
            model_calls: self.model_calls(turn.ordinal)?,
            turn_id: turn.turn_id,
        })
    }
}

impl<D: Database> SessionStore<D> {
    fn exported_steers(&self, turn: &Turn) -> Result<Vec<ExportedSteer>> {
        let mut unplaced = self.unplaced_steers(turn)?.into_iter().peekable();
        let exported = |steer: Steer| {
            let content = unplaced.next_if(|unplaced| unplaced.position == steer.position);
            ExportedSteer {
                steer_id: steer.steer_id,
                fingerprint: steer.fingerprint,
                accepted_at: timestamp(steer.accepted_at),
                caller: steer.caller,
                state: steer.state,
                interrupted: steer.interrupted,
                model_call: steer.delivered.map(|(_, model_call)| model_call),
                sequence: steer.seq,
                content: content.map(|unplaced| unplaced.content),
            }
        };
        Ok(self.steers(turn)?.into_iter().map(exported).collect())
    }
}
