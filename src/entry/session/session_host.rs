//! The owner of a session (interface §2): its storage, and the state of this instance, which is in
//! `running`, `erasure_memory`, `tasks` and `alarm`.
//!
//! There is one object for each session of a tenant or of a user (`ports::object_name`), and it admits a submission
//! without an await. What it responds to a request is in `session_endpoints`.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

use futures_util::lock::Mutex;
use serde_json::{Value, json};

use super::erasure_memory::ErasureMemory;
use super::running::Running;
use super::session_stream::SessionStream;
use crate::contract::{
    CallerRecord, Fault, Result, SessionId, TraceContext, TurnId, no_session, no_turn, release,
};
use crate::entry::logged_caller::logged_in_object;
use crate::entry::object_host::{ObjectHost, responded};
use crate::entry::request::{ArrivingBody, RequestHead};
use crate::entry::request_context::{IsolateSettings, RequestContext};
use crate::entry::request_id::RequestId;
use crate::entry::response::{Response, credential_expired};
use crate::identity::ForwardedCaller;
use crate::live_text::{LiveText, Timings};
use crate::object::{Alarm, NewerForm, TaskKind, TaskRunner};
use crate::persistence::{Session, SessionStore, Turn};
use crate::ports::{Database, ObjectClass, Platform, TraceSpan, failure_line, within};
use crate::reasoner::{Reasoner, RunMemory, RunSummary, RunTrace, StartedTurn};
use crate::tracing::{AgentInvocation, AgentInvocationEnd, traced_id};
use crate::users::SessionSummary;

/// The longest time between two alarms of a turn that waits for the operator, in milliseconds.
const LONGEST_WAIT_MS: u64 = 600_000;

/// The object that owns a session.
pub struct SessionHost<P, D> {
    pub(super) platform: Rc<P>,
    pub(super) store: Rc<SessionStore<D>>,
    pub(super) alarm: Rc<Alarm>,
    pub(super) running: Rc<Running>,
    pub(super) erasures: Rc<ErasureMemory>,
    pub(super) told: Rc<Told>,
    pub(super) tasks: Rc<TaskRunner<P, D>>,
    pub(super) newer_form: Rc<NewerForm>,
    /// The fault for which the newest attempt to become a fork has failed.
    pub(super) fork_failure: Rc<RefCell<Option<Fault>>>,
    /// Held while a fork is registered and its build begun.
    pub(super) fork_begins: Rc<Mutex<()>>,
}

/// Another handle of the same object, for a task of its own.
impl<P, D> Clone for SessionHost<P, D> {
    fn clone(&self) -> Self {
        Self {
            platform: Rc::clone(&self.platform),
            store: Rc::clone(&self.store),
            alarm: Rc::clone(&self.alarm),
            running: Rc::clone(&self.running),
            erasures: Rc::clone(&self.erasures),
            told: Rc::clone(&self.told),
            tasks: Rc::clone(&self.tasks),
            newer_form: Rc::clone(&self.newer_form),
            fork_failure: Rc::clone(&self.fork_failure),
            fork_begins: Rc::clone(&self.fork_begins),
        }
    }
}

/// What this instance has told the object of the session's user.
#[derive(Default)]
pub(super) struct Told {
    /// What it told last.
    pub(super) summary: RefCell<Option<SessionSummary>>,
    /// The reports in a row that failed.
    pub(super) failures: Cell<u32>,
    /// The lease that it gave back last.
    pub(super) given_back: Cell<u64>,
}

/// The durations that `Server-Timing` shows, in milliseconds.
#[derive(Default)]
pub(super) struct Durations {
    pub(super) validate: u64,
    pub(super) session: u64,
    pub(super) run: Timings,
}

impl<P: Platform, D: Database + 'static> ObjectHost<P, D> for SessionHost<P, D> {
    const CLASS: ObjectClass = ObjectClass::Session;
    type Stream = SessionStream<P, D>;

    fn new(platform: Rc<P>, database: D) -> Self {
        let store = Rc::new(SessionStore::new(database));
        let alarm = Rc::<Alarm>::default();
        let tasks = TaskRunner::new(Rc::clone(&platform), store.tasks(), Rc::clone(&alarm));
        Self {
            platform,
            store,
            alarm,
            running: Rc::default(),
            erasures: Rc::default(),
            told: Rc::default(),
            tasks: Rc::new(tasks),
            newer_form: Rc::default(),
            fork_failure: Rc::default(),
            fork_begins: Rc::default(),
        }
    }

    async fn response(
        &self,
        source: &IsolateSettings,
        head: &RequestHead<'_>,
        body: impl ArrivingBody,
    ) -> Response<SessionStream<P, D>> {
        let mut durations = Durations::default();
        let respond = async |id: Option<&RequestId>, caller: ForwardedCaller| {
            let grants = caller.grants.clone();
            let responded = self.respond(source, head, caller, body, id, &mut durations).await;
            if self.is_void_without_a_session(&grants).await {
                return Err(credential_expired().into());
            }
            self.note_refusal(&responded);
            responded
        };
        let mut response = responded(self.platform.as_ref(), head, respond).await;
        let timing = durations.run.server_timing(durations.validate, durations.session);
        response.headers.push(("Server-Timing", timing));
        response
    }

    fn platform(&self) -> &P {
        &self.platform
    }

    fn alarm(&self) -> &Alarm {
        &self.alarm
    }

    /// Keeps the alarm of a running turn, resumes an interrupted turn, attempts the tasks that are due, frees storage that
    /// holds nothing, reports to the user's object, and erases a session that has been kept for long enough.
    async fn alarm_work(&self, source: &IsolateSettings, alarm_interval_ms: u64) -> Result<()> {
        if self.running.is_busy() {
            self.ensure_alarm(alarm_interval_ms)?;
        }
        let context = source.context(self.platform.as_ref(), "", None).await?;
        let waits = self.recover(&context)?.waits;
        self.tasks.resume(alarm_interval_ms, || self.session_tasks(&context))?;
        // An erasure that they complete frees the storage.
        self.tasks.idle(TaskKind::Cancel).await;
        self.tasks.idle(TaskKind::Deletion).await;
        self.end_erasure(&context).await?;
        // A report that fails costs the list its freshness, and is tried again some times.
        match self.report().await {
            Ok(false) => {}
            Ok(true) => self.ensure_alarm(alarm_interval_ms)?,
            Err(fault) => self.log_failed_report(&fault),
        }
        match self.store.session()?.filter(|_| waits) {
            Some(session) if !self.is_expired(&context, &session) => context.contexts_of(&session),
            Some(_) | None => self.erase_expired(&context).await,
        }
    }

    /// Ever later for an open turn, which waits for the operator, mostly to mend the catalog: a tenth of the time for which
    /// nothing was stored, ten minutes at most. When what failed is mended, any request takes the turn up at once.
    fn again_ms(&self, alarm_interval_ms: u64) -> u64 {
        let session = self.store.session().unwrap_or_default();
        let waiting = session.filter(|session| session.open_turn.is_some());
        let since = |session: Session| self.platform.now_ms().saturating_sub(session.updated_at);
        let most = LONGEST_WAIT_MS.max(alarm_interval_ms);
        (waiting.map_or(0, since) / 10).clamp(alarm_interval_ms, most)
    }

    fn says_newer_form(&self) -> bool {
        self.newer_form.say(self.platform.as_ref(), self.store.newer_form().unwrap_or_default())
    }
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Runs a turn as a task of its own, which outlives its client's connection. After a long submission
    /// other tasks run first. `request_id` names the submission's request; `None` for a turn that goes on without one.
    pub(super) fn run(
        &self,
        context: &RequestContext,
        started: StartedTurn,
        is_long: bool,
        request_id: Option<RequestId>,
    ) -> Result<Rc<LiveText>> {
        let catalog = Rc::clone(context.catalog()?);
        let session = self.store.session_of_turn()?;
        let caller = started.turn.progress.trace.caller.clone();
        let (live, registration) = self.running.begin(started.turn.ordinal, caller);
        if started.turn.progress.pending.is_some() {
            live.interruption.expect_call();
        }
        let span = self.run_span(context, &session, &started);
        let own = span.as_ref().and_then(TraceSpan::context);
        let trace = RunTrace {
            is_traced: span.is_some(),
            id: own.map(|own| own.trace_id().to_owned()),
            caller: Rc::clone(&live.caller_trace),
        };
        let service = started.turn.progress.service.as_deref();
        let model = context.model_of(&session, service).to_owned();
        let names = RunNames::of(&started.turn, request_id, trace.id.clone());
        let text = Rc::clone(&live.text);
        let (host, of_run) = (self.clone(), context.clone());
        let start_tasks = Box::new(move || host.start_tasks(&of_run));
        let reasoner = Reasoner {
            platform: Rc::clone(&self.platform),
            store: Rc::clone(&self.store),
            catalog,
            deployment: Rc::clone(&context.deployment),
            connections: Rc::clone(&self.running.connections),
            resting: Rc::clone(&context.resting),
            interruption: Rc::clone(&live.interruption),
            start_tasks,
            trace,
            run: RunMemory::default(),
        };
        let (host, context) = (self.clone(), context.clone());
        let started_at = self.platform.now_ms();
        self.platform.spawn(Box::pin(async move {
            let platform = host.platform.as_ref();
            if is_long {
                platform.yield_to_others().await;
            }
            let run = pin!(async {
                let mut outcome = reasoner.run(started, &live.text, registration).await;
                // The outcome is durable before any client gets it.
                let ended_at = platform.now_ms();
                platform.durable().await;
                outcome.timings.persist += platform.now_ms().saturating_sub(ended_at);
                outcome
            });
            let outcome = within(span.as_ref(), run).await;
            let now = platform.now_ms();
            // The session takes a new turn before the watchers get the outcome. The next turn may even
            // run already: this turn was stored as ended before its outcome was durable.
            host.running.end(&live);
            let mut report = reasoner.run.report.take();
            report.timings = outcome.timings;
            let duration_ms = now.saturating_sub(started_at);
            if let Some(span) = &span {
                end_of(&report, live.caller_trace.borrow().as_ref()).describe(span);
            }
            drop(span);
            // A run may end before it calls the model.
            report.model.get_or_insert(model);
            let line = names.line(platform, &session, outcome.http_status, duration_ms, &report);
            live.text.end(outcome);
            if let Err(fault) = host.follow_end(&context, &session, Some(&report), Some(line)) {
                platform.log(failure_line("tasks_stopped", "error", &fault));
            }
            // Only a run pauses.
            if let Err(fault) = host.report_pause().await {
                host.log_failed_report(&fault);
            }
        }));
        Ok(text)
    }

    /// Opens the span of a run; `None` where nobody listens.
    fn run_span(
        &self,
        context: &RequestContext,
        session: &Session,
        started: &StartedTurn,
    ) -> Option<P::Span> {
        let agent = &session.conversation_context;
        let span = self.platform.span(&AgentInvocation::name(agent))?;
        let tenant = self.platform.tenant().unwrap_or_default();
        let (user, id) = (self.platform.user(), session.session_id.as_str());
        let traced = traced_id(&context.deployment.trace_session_id, tenant, user, id);
        let begun = AgentInvocation {
            tenant,
            session: traced.as_deref(),
            conversation_context: agent,
            catalog: &context.stamp.sha256,
            base_url: context.base_url_of(session),
            version: &release(),
            attempt: started.turn.attempts,
            waited_ms: started.waited_ms,
        };
        begun.describe(&span);
        Some(span)
    }

    /// Does what follows the end of a submission, which is stored, whoever ended it. `report` and `line` are `None` for a
    /// turn that waited for its client: they were written when it paused.
    pub(super) fn follow_end(
        &self,
        context: &RequestContext,
        session: &Session,
        report: Option<&RunSummary>,
        line: Option<Value>,
    ) -> Result<()> {
        if let Some(report) = report {
            context.metering.record(self.platform.as_ref(), session, report);
        }
        if let Some(line) = line {
            self.platform.log(line);
        }
        // The alarm reports the change to the user's object. A run has set it.
        if self.platform.user().is_some() {
            self.ensure_alarm(context.deployment.turn_alarm_ms)?;
        }
        self.start_tasks(context)
    }

    /// Sets the alarm unless this instance has set it.
    pub(super) fn ensure_alarm(&self, alarm_interval_ms: u64) -> Result<()> {
        self.alarm.set_in(self.platform.as_ref(), alarm_interval_ms)
    }
}

/// What names a run in the log.
pub(super) struct RunNames {
    turn_id: TurnId,
    request_id: Option<RequestId>,
    /// Of the trace that it is a part of.
    trace_id: Option<String>,
    caller: CallerRecord,
}

impl RunNames {
    /// Of a run of a turn. `trace_id` is that of the trace that the run is a part of.
    pub(super) fn of(turn: &Turn, request: Option<RequestId>, trace_id: Option<String>) -> Self {
        // The line of a user's session names the user by itself.
        let caller = CallerRecord { user: None, ..turn.progress.caller.clone() };
        Self { turn_id: turn.turn_id.clone(), request_id: request, trace_id, caller }
    }

    /// The log's line for a run that has ended: what it was, who asked for it, what it asked, and what failed it.
    pub(super) fn line<P: Platform>(
        &self,
        platform: &P,
        session: &Session,
        http_status: u16,
        duration_ms: u64,
        report: &RunSummary,
    ) -> Value {
        let mut line = json!({
            "event": "submission",
            "level": if http_status < 500 { "info" } else { "error" },
            "turn": self.turn_id.as_str(),
            "http_status": http_status,
            "duration_ms": duration_ms,
            "report": report,
        });
        RequestId::sign(self.request_id.as_ref(), &mut line);
        let Some(members) = line.as_object_mut() else { return line };
        let mut add = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
        add("model", report.model.as_deref().into());
        add("conversation_context", session.conversation_context.as_str().into());
        add("catalog", report.catalog.as_str().into());
        if let Some(trace_id) = &self.trace_id {
            add("trace_id", trace_id.as_str().into());
        }
        if let Some(tool) = &report.failed_tool {
            add("tool", tool.as_str().into());
        }
        if let Some(upstream) = &report.upstream {
            add("upstream", json!(upstream));
        }
        members.extend(logged_in_object(platform, self.caller.clone()));
        line
    }
}

/// A run that has ended, as its span tells it.
fn end_of<'a>(report: &'a RunSummary, caller: Option<&'a TraceContext>) -> AgentInvocationEnd<'a> {
    let (model_calls, tool_calls) = report.own_calls();
    AgentInvocationEnd {
        status: report.status,
        error: report.code,
        model: report.model.as_deref(),
        is_json: report.text_is_json,
        model_calls,
        tool_calls,
        caller,
    }
}

/// The session, or `session_not_found` before its first accepted turn.
pub(super) fn find_session<D: Database>(
    store: &SessionStore<D>,
    id: &SessionId,
) -> Result<Session> {
    store.session()?.ok_or_else(|| no_session(id))
}

/// A turn of the session, or `turn_not_found`.
pub(super) fn find_turn<D: Database>(store: &SessionStore<D>, id: &TurnId) -> Result<Turn> {
    store.turn(id)?.ok_or_else(|| no_turn(id))
}
