//! The calls that the model made: their rows, their results, and their settlement.
//!
//! A call without a result is *open*. The model's chain continues only after every call has one, so
//! [`SessionStore::add_tool_outputs`] adds the outputs of all calls to the conversation at once. The words of
//! results and outputs come from the caller.

use std::collections::BTreeSet;

use serde::Serialize;

use super::call::{Call, OpenCalls};
use super::records::{EntryKind, Session};
use super::session_store::SessionStore;
use crate::contract::{Result, ToolResult};
use crate::ports::{Database, Row, SqlValue, insert, read_row};

impl<D: Database> SessionStore<D> {
    /// The calls of one model call, in the model's order.
    pub fn calls(&self, of: OpenCalls) -> Result<Vec<Call>> {
        let statement = "SELECT * FROM calls WHERE turn = ? AND model_call = ? ORDER BY position";
        self.calls_by(statement, &[of.turn.into(), of.model_call.into()])
    }

    /// The results that the server's tools gave in a turn, each with the name of its tool, in the model's order. Nothing
    /// else of the calls is read, and no result of the client's: all of a turn together, nothing bounds them.
    pub fn server_results(&self, turn: u64) -> Result<Vec<(String, ToolResult)>> {
        let statement = "SELECT name, result FROM calls
            WHERE turn = ? AND result IS NOT NULL AND runs_on = 'server'
            ORDER BY model_call, position";
        let rows = self.rows_of_calls(statement, &[turn.into()])?;
        rows.iter().map(|row| Ok((row.get("name")?, self.json(row, "result")?))).collect()
    }

    /// Where all calls of a turn stand, in the same order: each by its model call, and its position there.
    pub(crate) fn call_places(&self, turn: u64) -> Result<Vec<(u32, u32)>> {
        let statement =
            "SELECT model_call, position FROM calls WHERE turn = ? ORDER BY model_call, position";
        let rows = self.rows_of_calls(statement, &[turn.into()])?;
        rows.iter().map(|row| Ok((row.get("model_call")?, row.get("position")?))).collect()
    }

    /// One call of a turn.
    pub(crate) fn call_at(&self, turn: u64, place: (u32, u32)) -> Result<Option<Call>> {
        let statement = "SELECT * FROM calls WHERE turn = ? AND model_call = ? AND position = ?";
        let (model_call, position) = place;
        let key = [turn.into(), model_call.into(), position.into()];
        Ok(self.calls_by(statement, &key)?.pop())
    }

    /// The calls of a turn, in the same order, of which one at a time is read: together they may be longer than memory.
    pub(crate) fn each_call(&self, turn: u64) -> Result<impl Iterator<Item = Result<Call>>> {
        let places = self.call_places(turn)?.into_iter();
        Ok(places.filter_map(move |place| self.call_at(turn, place).transpose()))
    }

    /// The calls of a turn that a human refused, each by its tool's name and its arguments as the model wrote them:
    /// only a refusal gives a call with a question to nobody. No result is read, since every model step may ask.
    pub fn refused_calls(&self, turn: u64) -> Result<Vec<(String, String)>> {
        let statement = "SELECT name, arguments FROM calls
            WHERE turn = ? AND runs_on = 'nobody' AND approval IS NOT NULL";
        let rows = self.rows_of_calls(statement, &[turn.into()])?;
        rows.iter().map(|row| Ok((row.get("name")?, self.json(row, "arguments")?))).collect()
    }

    /// The ids by which clients and tools know the calls of a turn, and the questions about calls.
    pub fn call_ids(&self, turn: u64) -> Result<BTreeSet<String>> {
        Ok(self.named_calls(turn)?.iter().flat_map(Call::ids).collect())
    }

    /// The calls of a turn, in the model's order, without names, arguments and results. What a human wrote in place of
    /// arguments, the last member, is cut off: nothing bounds all of a turn together.
    pub(crate) fn named_calls(&self, turn: u64) -> Result<Vec<Call>> {
        let statement = "SELECT model_call, position, tool_call_id, runs_on,
             CASE INSTR(question, ',\"ArgumentsJson\":') WHEN 0 THEN question
             ELSE SUBSTR(question, 1, INSTR(question, ',\"ArgumentsJson\":') - 1) || '}' END AS approval
            FROM (SELECT model_call, position, tool_call_id, runs_on, COALESCE(text, approval) AS question FROM calls
             LEFT JOIN texts ON part = 0 AND approval LIKE '@%' AND hash = SUBSTR(approval, 2)
             WHERE turn = ?) ORDER BY model_call, position";
        let call = |row: &Row| {
            let (call_id, name, arguments) = Default::default();
            Ok(read_row!(Call of row {
                model_call, position, tool_call_id, runs_on,
                call_id: call_id, name: name, arguments: arguments,
                approval: row.json("approval")?,
                result: None,
            }))
        };
        self.rows_of_calls(statement, &[turn.into()])?.iter().map(call).collect()
    }

    /// Takes back the decisions about calls that have no result: in the fork that has copied the calls, each question is
    /// put anew. It is a part of the step that makes the fork a session.
    ///
    /// The submission that was answered with the earlier questions loses that outcome, so that its repeat asks anew, too:
    /// nobody can answer them any more.
    pub(super) fn leave_decisions_behind(&self, session: &Session) -> Result<()> {
        let Some(open) = session.open_calls else { return Ok(()) };
        let mut taken = self.call_ids(open.turn)?;
        let calls = self.calls(open)?;
        let undone: Vec<Call> =
            calls.into_iter().filter(Call::is_approved_without_result).collect();
        if undone.is_empty() {
            return Ok(());
        }
        for mut call in undone {
            call.ask_anew(&taken);
            taken.extend(call.ids());
            self.save_call(open.turn, &call)?;
        }
        // The latest submission, in the turn's own row, brought the decisions; the one before it got the questions.
        self.database.execute(
            "UPDATE submissions SET http_status = NULL, outcome = NULL, kept_segment = NULL
             WHERE turn = ?1 AND number = (SELECT MAX(number) FROM submissions WHERE turn = ?1)",
            &[open.turn.into()],
        )
    }

    /// The bytes of the results that server tools gave in a turn.
    pub fn result_bytes(&self, turn: u64) -> Result<usize> {
        let statement = "SELECT result FROM calls
            WHERE turn = ? AND runs_on = 'server' AND result IS NOT NULL";
        let rows = self.rows_of_calls(statement, &[turn.into()])?;
        let bytes = |row| Ok(self.json::<ToolResult>(row, "result")?.outcome.text().len());
        rows.iter().map(bytes).sum()
    }

    /// Adds the outputs of all open calls, a JSON array of items, to the conversation, from which the
    /// next model call sends them.
    pub fn add_tool_outputs(
        &self,
        session: &mut Session,
        open: OpenCalls,
        outputs: &str,
    ) -> Result<()> {
        self.durable_step(|| {
            self.append(open.turn, EntryKind::ToolOutputs, outputs)?;
            session.open_calls = None;
            self.save_session(session)
        })
    }

    /// Closes the calls that nobody will run any more with the results of `result_of`, and adds the
    /// outputs of all calls to the conversation. Does nothing when no call is open. `begun` gives the places of the calls
    /// that may have begun, which `result_of` is told. A fault of `begun` or `outputs_of` is passed on.
    pub fn settle_open_calls(
        &self,
        session: &mut Session,
        begun: impl FnOnce(OpenCalls, &[Call]) -> Result<Vec<u32>>,
        result_of: impl Fn(&Call, bool) -> ToolResult,
        outputs_of: impl Fn(&[Call]) -> Result<String>,
    ) -> Result<()> {
        let Some(open) = session.open_calls else { return Ok(()) };
        let mut calls = self.calls(open)?;
        let begun = begun(open, &calls)?;
        self.durable_step(|| {
            for call in calls.iter_mut().filter(|call| call.result.is_none()) {
                call.result = Some(result_of(call, begun.contains(&call.position)));
                self.save_call(open.turn, call)?;
            }
            self.add_tool_outputs(session, open, &outputs_of(&calls)?)
        })
    }

    pub(super) fn insert_call(&self, turn: u64, call: &Call) -> Result<()> {
        self.ensure_call_tables()?;
        insert!(self.database, "INSERT INTO" calls {
            turn,
            model_call: call.model_call,
            position: call.position,
            call_id: call.call_id.as_str(),
            tool_call_id: call.tool_call_id.as_str(),
            name: call.name.as_str(),
            arguments: self.json_column("arguments", &call.arguments)?,
            runs_on: call.runs_on.as_str(),
            result: self.optional_column("result", call.result.as_ref())?,
            approval: self.optional_column("approval", call.approval.as_ref())?,
        })
    }

    /// Saves what becomes of a call: its result, and a human's decision with its effect on who runs it.
    pub(super) fn save_call(&self, turn: u64, call: &Call) -> Result<()> {
        self.database.execute(
            "UPDATE calls SET result = ?, runs_on = ?, approval = ?
             WHERE turn = ? AND model_call = ? AND position = ?",
            &[
                self.optional_column("result", call.result.as_ref())?,
                call.runs_on.as_str().into(),
                self.optional_column("approval", call.approval.as_ref())?,
                turn.into(),
                call.model_call.into(),
                call.position.into(),
            ],
        )
    }

    fn optional_column(&self, column: &str, value: Option<&impl Serialize>) -> Result<SqlValue> {
        value.map_or(Ok(SqlValue::Null), |value| self.json_column(column, value))
    }

    fn calls_by(&self, statement: &str, parameters: &[SqlValue]) -> Result<Vec<Call>> {
        let rows = self.rows_of_calls(statement, parameters)?;
        let call = |row: &Row| {
            Ok(read_row!(Call of row {
                model_call, position, call_id, tool_call_id, name, runs_on,
                arguments: self.json(row, "arguments")?,
                result: self.json(row, "result")?,
                approval: self.json(row, "approval")?,
            }))
        };
        rows.iter().map(call).collect()
    }
}
