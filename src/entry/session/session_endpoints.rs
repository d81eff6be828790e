//! The endpoints of a session: the object's response to each request that the front door passes on
//! (interface §1, §2).

use std::future::Future;
use std::rc::Rc;

use percent_encoding::percent_decode_str;
use serde::Serialize;

use super::epoch::Received;
use super::export::Export;
use super::session_host::SessionHost;
use super::submission::{Asked, Delivery};
use crate::contract::event_frames::END;
use crate::contract::{
    ErrorCode, ExecuteRequest, Fault, InvokeResult, MemberOrder, SessionId, fingerprint,
    object_text, parse_object,
};
use crate::entry::context::{AdmissionContext, ContextSource};
use crate::entry::request::RequestHead;
use crate::entry::response::object_failed;
use crate::entry::response::{JSON, Response, refusal_line};
use crate::entry::route::{Route, SessionRoute, asks_for};
use crate::live_text::{EventStream, Timings};
use crate::ports::{CHUNK_BYTES, Database, HttpFault, KEY_ID, Platform, RECEIVED_AT};

/// A body that a session's object sends piece by piece.
#[derive(Debug)]
pub enum SessionStream<P, D> {
    /// A turn's text and its result, as server-sent events.
    Events(EventStream<P>),
    /// The session's export, one JSON document.
    Export(Rc<P>, Export<D>),
}

impl<P: Platform, D: Database> SessionStream<P, D> {
    /// The next chunk, `None` after the last. The caller writes it before the next call.
    ///
    /// # Errors
    /// The fault that ends the document early. The caller then breaks the connection off, so that the
    /// client sees that the document is not whole.
    pub async fn next_chunk(&mut self) -> Result<Option<String>, Fault> {
        match self {
            Self::Events(events) => Ok(events.next_chunk().await),
            Self::Export(platform, export) => {
                // A turn can be long, and others are not to wait for all of them.
                platform.breathe().await;
                export.piece()
            }
        }
    }
}

/// The durations that `Server-Timing` shows, in milliseconds.
#[derive(Default)]
struct Spent {
    validate: u64,
    session: u64,
    run: Timings,
}

/// The three kinds of a session's responses.
enum Shown<D> {
    Turn(Delivery),
    View(InvokeResult),
    Export(Export<D>),
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The response to a request. Only an endpoint with a body awaits `body`.
    pub async fn response(
        self: &Rc<Self>,
        source: &ContextSource,
        head: &RequestHead<'_>,
        body: impl Future<Output = Result<Vec<u8>, HttpFault>>,
    ) -> Response<SessionStream<P, D>> {
        let mut spent = Spent::default();
        let responded = self.respond(source, head, body, &mut spent).await;
        let mut response = responded.unwrap_or_else(|faults| {
            self.platform.log(refusal_line(&faults));
            Response::refusal(faults)
        });
        let timing = spent.run.server_timing(spent.validate, spent.session);
        response.headers.push(("Server-Timing", timing));
        response
    }

    async fn respond(
        self: &Rc<Self>,
        source: &ContextSource,
        head: &RequestHead<'_>,
        body: impl Future<Output = Result<Vec<u8>, HttpFault>>,
        spent: &mut Spent,
    ) -> Result<Response<SessionStream<P, D>>, Vec<Fault>> {
        let epoch = self.epoch.get();
        let route = Route::find(head.method, head.target())?;
        let streams = matches!(route, Route::Execute | Route::Session(_, SessionRoute::Stream(_)));
        let progress = streams && asks_for("Progress", head.target())?;
        let mut context = source.context(self.platform.as_ref(), head.origin()).await?;
        let mut since = self.platform.now_ms();
        let reply = match route {
            Route::Execute => {
                let body = body.await.map_err(|_| object_failed())?;
                self.make_way(body.len()).await;
                let submission = self.read(&body).await;
                spent.validate = self.lap(&mut since);
                let submission = submission?;
                let order = MemberOrder::of(&submission, &body);
                let bytes = body.len();
                drop(body);
                self.make_way(bytes).await;
                let asked = Asked {
                    fingerprint: fingerprint(&submission),
                    is_long: is_long(bytes),
                    key_id: head.header(KEY_ID).map(|id| decoded(&id)),
                };
                self.make_way(bytes).await;
                let received = Received { epoch, at_ms: self.received_at(head) };
                context.tool_lists = self.tool_lists(source, &context, &submission).await;
                let delivery = self.execute(&context, submission, asked, received);
                delivery.map(Shown::Turn).map_err(|faults| order.sorted(faults))
            }
            Route::Session(id, SessionRoute::Erase) => {
                let receipt = self.erase(&context, &id, self.received_at(head)).await;
                self.end_erasure(&context).await?;
                view(receipt).map_err(Vec::from)
            }
            Route::Session(id, route) => self.shown(&context, &id, route).await.map_err(Vec::from),
            Route::Workspace(..)
            | Route::File(_)
            | Route::Playground
            | Route::Health
            | Route::Errors
            | Route::OpenApi => {
                let message = "This is not answered by a session.";
                Err(Fault::new(ErrorCode::NotFound, message).into())
            }
        };
        spent.session = self.lap(&mut since);
        Ok(match reply? {
            Shown::Turn(mut delivery) => {
                delivery.progress = progress;
                self.deliver(&context, head, delivery, spent).await
            }
            Shown::View(view) => Response::result(&view),
            Shown::Export(export) => {
                let platform = Rc::clone(&self.platform);
                Response::stream(JSON, SessionStream::Export(platform, export))
            }
        })
    }

    async fn read(&self, body: &[u8]) -> Result<ExecuteRequest, Vec<Fault>> {
        let text = object_text(body)?;
        self.make_way(body.len()).await;
        parse_object(text)
    }

    /// Lets others run before the next piece of work on a long body.
    async fn make_way(&self, bytes: usize) {
        if is_long(bytes) {
            self.platform.breathe().await;
        }
    }

    async fn shown(
        self: &Rc<Self>,
        context: &AdmissionContext,
        id: &SessionId,
        route: SessionRoute,
    ) -> Result<Shown<D>, Fault> {
        // The history of modes shows no turn, so it leaves the news of a failed one to another request.
        if route != SessionRoute::Modes {
            self.recover(context)?;
        }
        let session = self.known_session(id)?;
        match route {
            SessionRoute::Session => view(self.session_view(context, &session)),
            SessionRoute::Modes => view(self.modes_view(context, session)),
            SessionRoute::Turns(page) => view(self.turns_view(session, &page)),
            SessionRoute::Turn(turn) => view(self.turn_view(session, self.known_turn(&turn)?)),
            SessionRoute::Trace(turn) => view(self.trace_view(session, self.known_turn(&turn)?)),
            SessionRoute::Cancel(turn) => {
                let (session, turn) = self.cancel(id, session, self.known_turn(&turn)?).await?;
                view(self.turn_view(session, turn))
            }
            SessionRoute::Stream(turn) => {
                self.watch(context, &self.known_turn(&turn)?).map(Shown::Turn)
            }
            SessionRoute::Export => {
                Export::new(Rc::clone(&self.store), session, context).map(Shown::Export)
            }
            SessionRoute::Erase => Err(Fault::internal("An erasure shows no session.")),
        }
    }

    /// A stream begins at once; a JSON response waits for the end of the submission.
    async fn deliver(
        self: &Rc<Self>,
        context: &AdmissionContext,
        head: &RequestHead<'_>,
        delivery: Delivery,
        spent: &mut Spent,
    ) -> Response<SessionStream<P, D>> {
        let mut response = if delivery.streaming {
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
            let outcome = delivery.text.ended_with().await;
            spent.run = outcome.timings;
            Response::outcome(outcome.http_status, outcome.body)
        };
        if delivery.replayed {
            response.headers.push(("Idempotent-Replayed", "true".to_owned()));
        }
        response
    }

    /// When the Worker in front received a request.
    fn received_at(&self, head: &RequestHead<'_>) -> u64 {
        let told = head.header(RECEIVED_AT).and_then(|at_ms| at_ms.parse().ok());
        told.unwrap_or_else(|| self.platform.now_ms())
    }

    /// Milliseconds since `since`, which then becomes now.
    fn lap(&self, since: &mut u64) -> u64 {
        let now = self.platform.now_ms();
        now.saturating_sub(std::mem::replace(since, now))
    }
}

fn view<T: Serialize, D>(view: Result<T, Fault>) -> Result<Shown<D>, Fault> {
    view.map(|view| Shown::View(InvokeResult::success(&view, Vec::new())))
}

/// Whether a body is so long that work on it is divided into slices.
fn is_long(bytes: usize) -> bool {
    bytes > CHUNK_BYTES
}

/// A percent-encoded text.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
