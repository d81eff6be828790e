//! One step of the loop: the model is called with what it is owed, and its answer is stored.

use std::task::{Context, Poll};

use serde::Serialize;
use serde_json::value::RawValue;

use super::TurnStream;
use super::settlement::refused_output;
use super::{Reasoner, Work, endpoint, retry, without_result};
use crate::catalog::{AGENT_CHANGE_MODE, Continuation};
use crate::composition::{Block, ModelRequest, compose_request};
use crate::contract::{ErrorCode, Fault, Usage, Warning};
use crate::encoding::sha256_hex;
use crate::llm_call::{self, Answered, Audience, CallFailure};
use crate::persistence::{
    Call, Entry, EntryKind, EntrySeq, ModelOutputRecord, RunsOn, StoredOutcome,
};
use crate::ports::{Database, Platform};
use crate::responses_api::{FunctionCall, ModelAnswer, Progress, array_of, for_replay};

/// The transcript of one model call: what was sent (its input by place in the conversation), what
/// came back, and how it went. The content itself stands in the conversation, once.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Transcript {
    segment: u32,
    started_at: u64,
    duration_ms: u64,
    body_sha256: String,
    body_bytes: usize,
    previous_response_id: Option<String>,
    first_entry: Option<EntrySeq>,
    last_entry: Option<EntrySeq>,
    rebuilt: bool,
    withheld: Vec<EntrySeq>,
    composition: Vec<Block>,
    retries: Vec<Retry>,
    response_id: Option<String>,
    usage: Option<Usage>,
    fault: Option<Fault>,
}

/// An attempt that failed and was followed by another.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Retry {
    http_status: Option<u16>,
    waited_ms: u64,
}

/// What a call sends from the conversation.
struct Input {
    entries: Vec<Entry>,
    /// The chain that it continues; `None` when it is the whole conversation.
    previous_response_id: Option<String>,
    rebuilt: bool,
    /// Entries that are left out because the service may have refused them.
    withheld: Vec<EntrySeq>,
}

impl Input {
    /// The entries that the service can refuse now: those that it is owed by the turn itself, and
    /// by earlier turns that got no answer.
    fn refusable(&self, work: &Work<'_>) -> (Vec<EntrySeq>, Vec<EntrySeq>) {
        let refusable = |entry: &&Entry| {
            entry.seq > work.session.acknowledged
                && !entry.withheld
                && matches!(entry.kind, EntryKind::User | EntryKind::ToolOutputs)
        };
        let (own, others): (Vec<&Entry>, Vec<&Entry>) = self
            .entries
            .iter()
            .filter(refusable)
            .partition(|entry| entry.turn == work.turn.ordinal);
        let places = |entries: Vec<&Entry>| entries.iter().map(|entry| entry.seq).collect();
        (places(own), places(others))
    }

    /// It holds stand-ins for outputs that were refused before.
    fn stands_in(&self) -> bool {
        self.entries.iter().any(|entry| entry.withheld && entry.kind == EntryKind::ToolOutputs)
    }

    fn without(mut self, entries: &[EntrySeq]) -> Self {
        for entry in self.entries.iter_mut().filter(|entry| entries.contains(&entry.seq)) {
            entry.withheld = true;
        }
        self.withheld = entries.to_vec();
        self
    }
}

/// A call that ended, one way or the other.
struct Exchange {
    transcript: Transcript,
    ending: Result<Answered, CallFailure>,
    /// Text of it has been shown.
    shown: bool,
    /// The welcome message stands before the text already.
    welcomed: bool,
}

impl<P: Platform, D: Database> Reasoner<P, D> {
    /// Calls the model and stores its answer. `None` when it made calls that are answered next.
    pub(super) async fn call_model(
        &self,
        work: &mut Work<'_>,
    ) -> Result<Option<StoredOutcome>, Fault> {
        let limit = self.deployment.max_iterations;
        if work.turn.progress.iterations >= limit {
            return Err(Fault::new(
                ErrorCode::IterationLimitExceeded,
                format!("The turn was not done after {limit} model calls. Ask for less at once."),
            ));
        }
        let mut input = self.owed(work)?;
        let mut exchange = self.exchange(work, &input).await?;
        if input.previous_response_id.is_some() && exchange.failed_with(CallFailure::lost_chain) {
            // The session has the whole conversation itself: a lost chain is built again from it.
            input = self.whole_conversation(true)?;
            exchange.take_back(work);
            exchange = self.exchange(work, &input).await?;
        }
        if exchange.failed_with(CallFailure::refused_input) && input.stands_in() {
            // The service does not even take the stand-ins for outputs that it refused.
            self.store.forget_refused_calls(&mut work.session)?;
            input = self.whole_conversation(true)?;
            exchange.take_back(work);
            exchange = self.exchange(work, &input).await?;
        }
        if exchange.failed_with(CallFailure::refused_input) {
            exchange = self.find_refused(work, input, exchange).await?;
        }
        let Exchange { mut transcript, ending, welcomed, .. } = exchange;
        match ending {
            Ok(answered) => {
                transcript.response_id.clone_from(&answered.answer.response_id);
                self.store_answer(work, transcript, answered, welcomed)
            }
            Err(failure) => {
                let attempts = u32::try_from(transcript.retries.len()).unwrap_or(u32::MAX) + 1;
                let fault = failure.into_fault(attempts);
                transcript.fault = Some(fault.clone());
                self.store.record_attempt(&mut work.turn, &to_json(&transcript)?)?;
                Err(fault)
            }
        }
    }

    /// The model service refused its input. Whatever it is that it refuses leaves the conversation,
    /// so that it never stands in the way of another turn; and nothing else does. When earlier turns
    /// had a part in the input, the call is made once more without it to see whose part it was.
    async fn find_refused(
        &self,
        work: &mut Work<'_>,
        input: Input,
        refused: Exchange,
    ) -> Result<Exchange, Fault> {
        let (own, others) = input.refusable(work);
        let mut exchange = refused;
        if !others.is_empty() {
            exchange.take_back(work);
            exchange = self.exchange(work, &input.without(&others)).await?;
        }
        if exchange.ending.is_ok() {
            self.store.withhold(&mut work.session, &others)?;
        } else if exchange.failed_with(CallFailure::refused_input) {
            self.store.withhold(&mut work.session, &own)?;
        }
        Ok(exchange)
    }

    /// What the model service has not got yet; everything when there is no chain to continue.
    fn owed(&self, work: &Work<'_>) -> Result<Input, Fault> {
        match (work.agent.continuation, &work.session.chain_head) {
            (Continuation::Stored, Some(head)) => Ok(Input {
                entries: self.store.entries_after(work.session.acknowledged)?,
                previous_response_id: Some(head.clone()),
                rebuilt: false,
                withheld: Vec::new(),
            }),
            (Continuation::Stored, None) | (Continuation::Replay, _) => {
                self.whole_conversation(false)
            }
        }
    }

    fn whole_conversation(&self, rebuilt: bool) -> Result<Input, Fault> {
        let entries = self.store.entries_after(EntrySeq::START)?;
        Ok(Input { entries, previous_response_id: None, rebuilt, withheld: Vec::new() })
    }

    /// Composes the request and makes the call, with retries.
    async fn exchange(&self, work: &mut Work<'_>, input: &Input) -> Result<Exchange, Fault> {
        let composing_since = self.platform.now_ms();
        let items = input_items(&input.entries)?;
        let mode = self.catalog.mode(&work.session.mode);
        let resend = work.agent.resend_tools
            || input.previous_response_id.is_none()
            || work.session.tools_sent.as_ref() != Some(&work.turn.tools)
            // The service refuses a choice among tools that the request does not hold.
            || work.turn.progress.tool_choice.is_some();
        let composed = compose_request(&ModelRequest {
            model: work
                .conversation
                .model
                .as_deref()
                .or(work.agent.model.as_deref())
                .unwrap_or(&self.deployment.model),
            instructions: mode.map_or("", |mode| &mode.instructions),
            input: items.iter().map(AsRef::as_ref).collect(),
            tools: resend.then_some(&work.tools),
            tool_choice: work.turn.progress.tool_choice.as_deref(),
            previous_response_id: input.previous_response_id.as_deref(),
            store: work.agent.continuation == Continuation::Stored,
        })?;
        self.report.borrow_mut().timings.compose += self.since(composing_since);
        let started_at = self.platform.now_ms();
        let mut transcript = Transcript {
            segment: work.turn.progress.next_segment,
            started_at,
            duration_ms: 0,
            body_sha256: sha256_hex(composed.body.as_bytes()),
            body_bytes: composed.body.len(),
            previous_response_id: input.previous_response_id.clone(),
            first_entry: input.entries.first().map(|entry| entry.seq),
            last_entry: input.entries.last().map(|entry| entry.seq),
            rebuilt: input.rebuilt,
            withheld: input.withheld.clone(),
            composition: composed.trace,
            retries: Vec::new(),
            response_id: None,
            usage: None,
            fault: None,
        };
        let endpoint = endpoint(self.platform.as_ref(), &self.deployment, work.agent);
        let mut show = Show {
            stream: work.stream,
            segment: transcript.segment,
            welcome: self.welcome(work),
            shown: false,
            welcomed: false,
        };
        let mut attempts = 0;
        let ending = loop {
            attempts += 1;
            let ending =
                llm_call::call(self.platform.as_ref(), &endpoint, composed.body.clone(), &mut show)
                    .await;
            let Err(failure) = &ending else { break ending };
            let wait = retry::wait_ms(failure, attempts, self.platform.random())
                // A wait that outlasts the turn would only hide why it failed.
                .filter(|wait| self.platform.now_ms().saturating_add(*wait) < work.deadline_ms);
            let Some(wait) = wait else { break ending };
            transcript.retries.push(Retry { http_status: failure.http_status(), waited_ms: wait });
            self.platform.sleep(wait).await;
        };
        let Show { segment, shown, welcomed, .. } = show;
        transcript.segment = segment;
        transcript.duration_ms = self.since(started_at);
        let mut report = self.report.borrow_mut();
        report.timings.model += transcript.duration_ms;
        report.retries += attempts - 1;
        drop(report);
        Ok(Exchange { transcript, ending, shown, welcomed })
    }

    /// Stores an answer: as the turn's end when it is the final text, else with its calls open.
    fn store_answer(
        &self,
        work: &mut Work<'_>,
        mut transcript: Transcript,
        answered: Answered,
        welcomed: bool,
    ) -> Result<Option<StoredOutcome>, Fault> {
        let Answered { answer, cut_off } = answered;
        let segment = transcript.segment;
        let usage = answer.usage.map(usage);
        transcript.usage = usage;
        let calls = self.calls_of(work, &answer)?;
        let ends = calls.is_empty();
        let mode_changes = calls.iter().filter(|call| call.name == AGENT_CHANGE_MODE).count();

        if work.agent.continuation == Continuation::Stored {
            work.session.chain_head.clone_from(&answer.response_id);
        }
        work.session.tools_sent = Some(work.turn.tools.clone());
        let progress = &mut work.turn.progress;
        progress.model_calls += 1;
        progress.iterations += 1;
        progress.next_segment = segment + 1;
        progress.tool_choice = None;
        if mode_changes > 1 {
            progress.warnings.push(Warning::new(
                "several_mode_changes",
                "The model asked for more than one mode change at once; the last one that is possible holds.",
            ));
        }
        if let Some(usage) = usage {
            progress.usage = Some(progress.usage.unwrap_or_default().saturating_add(usage));
        }
        let record = ModelOutputRecord {
            items: &array_of(&answer.items),
            calls: &calls,
            record: &to_json(&transcript)?,
        };
        if ends {
            warn_of_flaws(&mut progress.user_warnings, &answer, cut_off.as_deref());
            let text = self.final_text(work, segment, answer.text, welcomed);
            return self.complete(work, segment, text, &record).map(Some);
        }
        let waits = calls.iter().any(|call| call.runs_on == RunsOn::Client);
        progress.said_with_calls = None;
        if welcomed || !waits || answer.text.is_empty() {
            work.stream.discard(segment);
        }
        if waits && !answer.text.is_empty() {
            let mut segment = segment;
            if welcomed {
                // The welcome belongs to the answer: what was said behind it is said without.
                segment += 1;
                work.stream.append(segment, &answer.text);
                progress.next_segment = segment + 1;
            }
            progress.said_with_calls = Some((segment, answer.text));
        }
        let now = self.platform.now_ms();
        self.store.record_output(&mut work.session, &mut work.turn, &record, now)?;
        Ok(None)
    }

    /// The calls of an answer, and who answers each. One that nobody can run is answered at once.
    fn calls_of(&self, work: &Work<'_>, answer: &ModelAnswer) -> Result<Vec<Call>, Fault> {
        if answer.calls.is_empty() {
            return Ok(Vec::new());
        }
        let known = self.store.tool_call_ids(work.turn.ordinal)?;
        let model_call = work.turn.progress.model_calls;
        let calls = answer.calls.iter().zip(0..).map(|(made, position): (&FunctionCall, u32)| {
            let tool_call_id = match known.contains(&made.call_id) {
                false => made.call_id.clone(),
                // The service numbers the calls of each response anew.
                true => format!("{}.{model_call}.{position}", made.call_id),
            };
            let (runs_on, trouble) = match work.tools.get(&made.name) {
                None => (
                    RunsOn::Nobody,
                    Some(format!("There is no tool {}. Use an offered one.", made.name)),
                ),
                Some(tool) if tool.on_server => (RunsOn::Server, None),
                Some(_) if !is_json(&made.arguments) => (
                    RunsOn::Nobody,
                    Some("The arguments are not valid JSON. Write the call again.".to_owned()),
                ),
                Some(_) => (RunsOn::Client, None),
            };
            Call {
                model_call,
                position,
                call_id: made.call_id.clone(),
                result: trouble.map(|trouble| without_result(&tool_call_id, &trouble)),
                tool_call_id,
                name: made.name.clone(),
                arguments: made.arguments.clone(),
                runs_on,
            }
        });
        Ok(calls.collect())
    }

    /// The final text, with the welcome message of a mode that was entered in this turn.
    fn final_text(&self, work: &Work<'_>, segment: u32, text: String, welcomed: bool) -> String {
        match self.welcome(work) {
            None => text,
            Some(welcome) if text.is_empty() => {
                work.stream.append(segment, welcome);
                welcome.to_owned()
            }
            Some(welcome) => {
                debug_assert!(welcomed, "text was shown, so the welcome before it was too");
                format!("{welcome}\n\n{text}")
            }
        }
    }

    fn welcome(&self, work: &Work<'_>) -> Option<&str> {
        let key = work.turn.progress.welcome.as_ref()?;
        self.catalog
            .mode(key)
            .map(|mode| mode.welcome_message.as_str())
            .filter(|text| !text.is_empty())
    }
}

/// Puts the text of a call into the turn's stream as it comes.
struct Show<'a> {
    stream: &'a TurnStream,
    segment: u32,
    /// Stands before the text.
    welcome: Option<&'a str>,
    shown: bool,
    welcomed: bool,
}

impl Audience for Show<'_> {
    fn hear(&mut self, progress: Progress) {
        let text = match progress {
            Progress::Nothing => return,
            Progress::Text(text) => text,
            Progress::Replaced(text) => {
                self.stream.discard(self.segment);
                self.segment += 1;
                self.welcomed = false;
                text
            }
        };
        self.shown = true;
        if text.is_empty() {
            return;
        }
        if let Some(welcome) = self.welcome.filter(|_| !self.welcomed) {
            self.stream.append(self.segment, welcome);
            self.stream.append(self.segment, "\n\n");
            self.welcomed = true;
        }
        self.stream.append(self.segment, &text);
    }

    fn poll_listens(&self, context: &mut Context<'_>) -> Poll<()> {
        self.stream.poll_watched(context)
    }
}

impl Exchange {
    fn failed_with(&self, concern: impl Fn(&CallFailure) -> bool) -> bool {
        self.ending.as_ref().is_err_and(concern)
    }

    /// The call is made again: nothing that it has shown is the answer.
    fn take_back(&self, work: &mut Work<'_>) {
        if self.shown {
            work.stream.discard(self.transcript.segment);
            work.turn.progress.next_segment = self.transcript.segment + 1;
        }
    }
}

/// The items of entries as input: the model's own answers in the form in which they are sent back,
/// and withheld ones in the form in which they do no harm.
fn input_items(entries: &[Entry]) -> Result<Vec<Box<RawValue>>, Fault> {
    let mut items = Vec::new();
    for entry in entries {
        match (entry.kind, entry.withheld) {
            (EntryKind::ModelOutput, _) => {
                items.extend(entry.items.iter().filter_map(|item| for_replay(item)));
            }
            (EntryKind::ToolOutputs, true) => {
                for item in &entry.items {
                    items.push(refused_output(item)?);
                }
            }
            (EntryKind::User, true) => {}
            (EntryKind::System | EntryKind::User | EntryKind::ToolOutputs, _) => {
                items.extend(entry.items.iter().cloned());
            }
        }
    }
    Ok(items)
}

/// A client is given JSON, or nothing that would have to be.
fn is_json(arguments: &str) -> bool {
    arguments.trim().is_empty() || serde_json::from_str::<&RawValue>(arguments).is_ok()
}

fn warn_of_flaws(warnings: &mut Vec<String>, answer: &ModelAnswer, cut_off: Option<&str>) {
    match cut_off {
        None => {}
        Some("max_output_tokens") => {
            warnings.push("The answer is incomplete: it reached its length limit.".to_owned());
        }
        Some("content_filter") => {
            warnings.push("The answer is incomplete: a content filter stopped it.".to_owned());
        }
        Some(_) => warnings.push("The answer is incomplete: it was cut off.".to_owned()),
    }
    if answer.refusal {
        warnings.push("The model declined to answer this request, or a part of it.".to_owned());
    } else if answer.text.is_empty() {
        warnings.push("The model ended its answer without any text.".to_owned());
    }
}

fn usage(counted: crate::responses_api::Usage) -> Usage {
    Usage {
        prompt_tokens: counted.input,
        cached_tokens: counted.cached,
        completion_tokens: counted.output,
        reasoning_tokens: counted.reasoning,
        total_tokens: counted.total,
    }
}

fn to_json(transcript: &Transcript) -> Result<String, Fault> {
    serde_json::to_string(transcript).map_err(|_| Fault::unwritable("The transcript"))
}
