//! The endpoints of a session: the object's response to each request that the front door passes on
//! (interface §1, §2).

use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::join;
use serde::Serialize;

use super::admission::Submission;
use super::detached::AcceptedTurn;
use super::erasure_memory::Received;
use super::export::Export;
use super::session_host::{Durations, SessionHost, find_session, find_turn};
use super::session_stream::SessionStream;
use super::steering::ReceivedSteer;
use super::submission::Delivery;
use super::views::{TurnView, Views};
use crate::contract::event_frames::END;
use crate::contract::{
    ExecuteRequest, Fault, InvokeResult, MemberOrder, Operation, Result, SessionId, TurnId,
    fingerprint, object_text, parse_object,
};
use crate::entry::endpoints::Found;
use crate::entry::object_question::answered_elsewhere;
use crate::entry::request::{ArrivingBody, RequestHead, received_at};
use crate::entry::request_context::{IsolateSettings, RequestContext};
use crate::entry::request_id::RequestId;
use crate::entry::response::{JSON, Response, object_failed};
use crate::entry::route::{Route, SessionRoute, TurnRoute};
use crate::entry::trace_header::trace_context;
use crate::identity::{ForwardedCaller, Grants, Subject};
use crate::live_text::EventStream;
use crate::ports::{CHUNK_BYTES, Database, ObjectQuestion, Platform};
use crate::users::Ending;

/// What an endpoint of a session replies with.
enum Reply<P, D> {
    Turn(Delivery),
    Made(Response<SessionStream<P, D>>),
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// What the object responds to a request, or answers to a question.
    pub(super) async fn respond(
        &self,
        source: &IsolateSettings,
        head: &RequestHead<'_>,
        caller: ForwardedCaller,
        body: impl ArrivingBody,
        id: Option<&RequestId>,
        durations: &mut Durations,
    ) -> Result<Response<SessionStream<P, D>>, Vec<Fault>> {
        if let Some(asked) = ObjectQuestion::parse(head.target()) {
            return Ok(self.answer(source, asked, body).boxed_local().await?);
        }
        let generation = self.erasures.generation();
        let found = Found::of(head.method, head.target())?;
        let progress = found.asks_for_progress(head.target())?;
        let route = found.route;
        self.refuse_revoked(&caller.grants)?;
        let mut context =
            source.context(self.platform.as_ref(), head.origin(), id.cloned()).await?;
        context.trace = trace_context(head, &route);
        let mut since = self.platform.now_ms();
        let reply = match route {
            Route::Execute => {
                let (request, order, bytes) = self.read(body, durations, &mut since).await?;
                self.yield_if_long(bytes).await;
                let fingerprint = fingerprint(&request);
                self.yield_if_long(bytes).await;
                let inherited = self.inherited(&request, bytes).await?;
                let at_ms = received_at(head, self.platform.as_ref());
                let (tools_by_server, registered) = join(
                    self.mcp_tools(source, &context, &request, &caller.grants),
                    self.register(&context, &request, at_ms, &caller.grants),
                )
                .await;
                let submission = Submission {
                    fingerprint,
                    inherited,
                    is_long: is_long(bytes),
                    caller,
                    tools_by_server,
                    incarnation: registered?,
                    received: Received { generation, at_ms },
                    progress,
                    accepted: AcceptedTurn::of(head, &request),
                    request,
                };
                let delivery = self.execute(&context, submission);
                delivery.map(Reply::Turn).map_err(|faults| order.sorted(faults))
            }
            Route::Turn(session, turn, TurnRoute::Steer) => {
                let steer = ReceivedSteer { session, turn, caller, generation };
                let steered = self.receive_steer(&context, head, body, steer).boxed_local();
                steered.await.map(Reply::Made)
            }
            Route::Session(parent, SessionRoute::Fork) => {
                let forked = self.receive_fork(&context, head, body, parent, &caller.grants);
                forked.boxed_local().await.map(Reply::Made)
            }
            Route::Session(id, route) => {
                let replied = self.reply(&context, head, &id, route).boxed_local();
                replied.await.map_err(Vec::from)
            }
            Route::Turn(session, turn, route) => {
                let turn = (&session, &turn);
                let grants = &caller.grants;
                let replied = self.reply_about(&context, grants, turn, route, progress);
                replied.boxed_local().await.map_err(Vec::from)
            }
            _ => Err(answered_elsewhere().into()),
        };
        durations.session = self.lap(&mut since);
        Ok(match reply? {
            Reply::Turn(delivery) => self.deliver(&context, head, delivery, durations).await,
            Reply::Made(response) => response,
        })
    }

    /// A submission, the order of its members, and its length in bytes.
    async fn read(
        &self,
        body: impl ArrivingBody,
        durations: &mut Durations,
        since: &mut u64,
    ) -> Result<(ExecuteRequest, MemberOrder, usize), Vec<Fault>> {
        let body = body.await.map_err(|_| object_failed())?;
        self.yield_if_long(body.len()).await;
        let request = self.parsed(&body).await;
        durations.validate = self.lap(since);
        let request = request?;
        let order = MemberOrder::of(&request, &body);
        Ok((request, order, body.len()))
    }

    async fn parsed(&self, body: &[u8]) -> Result<ExecuteRequest, Vec<Fault>> {
        let text = object_text(body)?;
        self.yield_if_long(body.len()).await;
        parse_object(text)
    }

    /// Lets other tasks run before the next piece of work on a long body.
    pub(super) async fn yield_if_long(&self, bytes: usize) {
        if is_long(bytes) {
            self.platform.yield_to_others().await;
        }
    }

    /// What an endpoint below the session's path replies with.
    async fn reply(
        &self,
        context: &RequestContext,
        head: &RequestHead<'_>,
        id: &SessionId,
        route: SessionRoute,
    ) -> Result<Reply<P, D>> {
        let store = self.store.as_ref();
        let views = Views { store, context };
        let recovered_session = || {
            self.recover(context)?;
            find_session(store, id)
        };
        match route {
            SessionRoute::View => view(views.session(&recovered_session()?)),
            // The history of modes shows no turn. If recovery fails a turn, the next request for that turn
            // reports it.
            SessionRoute::Modes => view(views.modes(find_session(store, id)?)),
            SessionRoute::Turns(page) => view(views.turns(recovered_session()?, &page)),
            SessionRoute::Export => {
                let export = Export::new(Rc::clone(&self.store), recovered_session()?, context)?;
                let stream = SessionStream::Export(Rc::clone(&self.platform), export);
                Ok(Reply::Made(Response::stream(JSON, stream)))
            }
            SessionRoute::Erase => {
                let at = received_at(head, self.platform.as_ref());
                let receipt = self.erase(context, id, at, Ending::WhenDone).await;
                self.end_erasure(context).await?;
                view(receipt)
            }
            SessionRoute::Rename | SessionRoute::Fork => Err(answered_elsewhere()),
        }
    }

    /// What an endpoint below a turn's path replies with.
    async fn reply_about(
        &self,
        context: &RequestContext,
        grants: &Grants,
        (id, turn): (&SessionId, &TurnId),
        route: TurnRoute,
        progress: bool,
    ) -> Result<Reply<P, D>> {
        let store = self.store.as_ref();
        self.recover(context)?;
        let (session, turn) = (find_session(store, id)?, find_turn(store, turn)?);
        let views = Views { store, context };
        match route {
            TurnRoute::View => view(views.turn(session, turn)),
            TurnRoute::Trace => {
                let live = self.running.turn(&turn);
                let step = live.and_then(|live| live.text.current_activity());
                view(views.trace(session, turn, step))
            }
            TurnRoute::Stream => self.watch(context, &turn, progress).map(Reply::Turn),
            TurnRoute::Cancel => {
                let (session, turn) = self.cancel(context, id, session, turn).await?;
                let shown = views.turn(session, turn);
                // To end a turn is not to read it.
                let may_read = grants.permit(&[&[Operation::Read]], Subject::Nothing).is_ok();
                view(if may_read { shown } else { shown.map(TurnView::without_content) })
            }
            TurnRoute::Steer => Err(answered_elsewhere()),
        }
    }

    /// A stream begins at once; a JSON response waits for the end of the submission, unless the client does not.
    async fn deliver(
        &self,
        context: &RequestContext,
        head: &RequestHead<'_>,
        delivery: Delivery,
        durations: &mut Durations,
    ) -> Response<SessionStream<P, D>> {
        if let Some(turn) = &delivery.detached {
            self.platform.durable().await;
            return turn.response();
        }
        let response = if delivery.streaming {
            let last_event_id = head.header("Last-Event-ID");
            if last_event_id.as_deref() == Some(END) && head.method == "GET" {
                // An EventSource comes back by itself after the end; this status stops it.
                return Response::empty(204);
            }
            // From here on the model's output is read as it comes.
            delivery.text.watch();
            let deployment = &context.deployment;
            let cursor = delivery.cursor(last_event_id.as_deref(), deployment);
            let (platform, text) = (Rc::clone(&self.platform), Rc::clone(&delivery.text));
            let events = EventStream::new(platform, text, cursor, deployment.keep_alive_ms);
            Response::stream("text/event-stream; charset=utf-8", SessionStream::Events(events))
        } else {
            let outcome = delivery.text.outcome().await;
            durations.run = outcome.timings;
            Response::outcome(outcome.http_status, outcome.body)
        };
        response.marked_replayed(delivery.replayed)
    }

    /// Milliseconds since `since`, which then becomes now.
    fn lap(&self, since: &mut u64) -> u64 {
        let now = self.platform.now_ms();
        now.saturating_sub(std::mem::replace(since, now))
    }
}

fn view<T: Serialize, P, D>(view: Result<T>) -> Result<Reply<P, D>> {
    view.map(|view| Reply::Made(Response::result(&InvokeResult::success(&view))))
}

/// Whether a body is so long that work on it is divided into slices.
fn is_long(bytes: usize) -> bool {
    bytes > CHUNK_BYTES
}
