//! The Durable Object of one session, named `{tenant}/{SessionId}`.
//!
//! State: SQLite (see `persistence::schema`), and in memory the turn that runs. Routes: what
//! `entry::Route` finds below `/execute` and `/sessions`. Statuses: the interface, section 3. Alarm:
//! `TURN_ALARM_MS` after an instance's first write, and again while a turn runs, so that the object is
//! not evicted under it, and so that a turn whose instance was lost is taken up.

use std::rc::Rc;

use serde::Serialize;
use serde_json::json;
use worker::{DurableObject, Env, Request, Response, State, durable_object};

use super::alarm::Alarm;
use super::answer::{json, origin, refusal, refusal_line, result, target};
use super::environment::environment;
use super::event_stream::event_stream;
use super::export_stream::export_stream;
use super::object_storage::{ObjectStorage, RowCount};
use super::request_body::whole_body;
use super::runtime::Runtime;
use crate::contract::{ErrorCode, Fault, InvokeResult, MemberOrder, SessionId, parse};
use crate::entry::{Delivery, Environment, Route, SessionHost, SessionRoute};
use crate::ports::{DatabaseFault, Platform};
use crate::reasoner::{Position, Timings};

/// The Durable Object of one session.
#[durable_object(alarm)]
pub struct SessionObject {
    env: Env,
    state: Rc<State>,
    runtime: Rc<Runtime>,
    host: Rc<SessionHost<Runtime, ObjectStorage>>,
    alarm: Rc<Alarm>,
}

impl DurableObject for SessionObject {
    fn new(state: State, env: Env) -> Self {
        let state = Rc::new(state);
        let rows = Rc::new(RowCount::default());
        let runtime = Rc::new(Runtime::new(env.clone(), Rc::clone(&state), Rc::clone(&rows)));
        let alarm = Rc::new(Alarm::new(env.clone(), &state));
        let storage = ObjectStorage::new(&state, rows, Some(Rc::clone(&alarm)));
        let host = SessionHost::new(Rc::clone(&runtime), storage);
        Self { env, state, runtime, host, alarm }
    }

    async fn fetch(&self, mut request: Request) -> worker::Result<Response> {
        let mut spent = Spent::default();
        let mut response = match self.answer(&mut request, &mut spent).await? {
            Ok(response) => response,
            Err(faults) => {
                self.runtime.log(refusal_line(&faults));
                refusal(faults)?
            }
        };
        let header = spent.run.server_timing(spent.validate, spent.session);
        response.headers_mut().set("Server-Timing", &header)?;
        Ok(response)
    }

    async fn alarm(&self) -> worker::Result<Response> {
        self.alarm.is_gone();
        if let Err(fault) = self.look_after().await {
            // The runtime would ring a few times more, and then never again.
            self.runtime.log(json!({
                "event": "alarm_failed", "level": "error",
                "code": fault.code.as_str(), "message": fault.message,
            }));
            let set = self.alarm.ensure();
            set.map_err(|fault| worker::Error::RustError(fault.to_string()))?;
        }
        Response::empty()
    }
}

/// Where the time of a request went, in milliseconds.
#[derive(Default)]
struct Spent {
    validate: u64,
    session: u64,
    run: Timings,
}

impl SessionObject {
    /// Sees to what goes on without a client: a turn, and an erasure.
    async fn look_after(&self) -> Result<(), Fault> {
        // A turn that runs here keeps its alarm.
        if self.host.is_running() {
            self.alarm.ensure()?;
        }
        let environment = environment(&self.env, String::new()).await?;
        let waits = self.host.recover(&environment)?;
        self.host.resume_erasure(&environment).await?;
        self.end_erasure().await?;
        match environment.catalog {
            Err(fault) if waits => Err(fault),
            _ => Ok(()),
        }
    }

    async fn answer(
        &self,
        request: &mut Request,
        spent: &mut Spent,
    ) -> worker::Result<Result<Response, Vec<Fault>>> {
        let url = request.inner().url();
        let route = match Route::find(request.method().as_ref(), &target(&url)) {
            Ok(route) => route,
            Err(fault) => return Ok(Err(fault.into())),
        };
        let environment = match environment(&self.env, origin(&url).to_owned()).await {
            Ok(environment) => environment,
            Err(fault) => return Ok(Err(fault.into())),
        };
        let mut since = self.runtime.now_ms();
        let delivery = match route {
            Route::Execute => {
                let body = whole_body(request.inner()).await?.to_vec();
                let submission = parse(&body);
                spent.validate = self.lap(&mut since);
                match submission {
                    Ok(submission) => {
                        let order = MemberOrder::of(&submission, &body);
                        drop(body);
                        let retrieved = self.host.retrieve(&environment, &submission).await;
                        let delivery = self.host.execute(&environment, &submission, &retrieved);
                        delivery.map_err(|faults| order.sorted(faults))
                    }
                    Err(faults) => return Ok(Err(faults)),
                }
            }
            Route::Session(session, SessionRoute::Stream(turn)) => {
                self.host.watch(&environment, &session, &turn).map_err(Vec::from)
            }
            Route::Session(session, SessionRoute::Export) => {
                return match self.host.export(&environment, &session) {
                    Ok(export) => export_stream(export).map(Ok),
                    Err(fault) => Ok(Err(fault.into())),
                };
            }
            Route::Session(session, route) => {
                let viewed = self.view(&environment, &session, route).await;
                spent.session = self.lap(&mut since);
                return viewed;
            }
            Route::Workspace(..)
            | Route::File(_)
            | Route::Health
            | Route::Errors
            | Route::OpenApi => {
                Err(Fault::new(ErrorCode::NotFound, "This is not answered by a session.").into())
            }
        };
        spent.session = self.lap(&mut since);
        match delivery {
            Ok(delivery) => self.deliver(&environment, request, delivery, spent).await.map(Ok),
            Err(faults) => Ok(Err(faults)),
        }
    }

    async fn view(
        &self,
        environment: &Environment,
        session: &SessionId,
        route: SessionRoute,
    ) -> worker::Result<Result<Response, Vec<Fault>>> {
        let host = &self.host;
        let view = match route {
            SessionRoute::Session => shown(host.session_view(environment, session)),
            SessionRoute::Modes => shown(host.modes_view(environment, session)),
            SessionRoute::Turns(page) => shown(host.turns_view(environment, session, &page)),
            SessionRoute::Trace(turn) => shown(host.trace_view(environment, session, &turn)),
            SessionRoute::Turn(turn) => shown(host.turn_view(environment, session, &turn)),
            SessionRoute::Cancel(turn) => shown(host.cancel(environment, session, &turn).await),
            SessionRoute::Erase => {
                let erased = shown(host.erase(environment, session).await);
                match self.end_erasure().await {
                    Ok(()) => erased,
                    Err(fault) => Err(fault),
                }
            }
            SessionRoute::Stream(_) | SessionRoute::Export => {
                Err(Fault::new(ErrorCode::Internal, "A stream is not a view."))
            }
        };
        match view {
            Ok(view) => result(&view).map(Ok),
            Err(fault) => Ok(Err(fault.into())),
        }
    }

    async fn deliver(
        &self,
        environment: &Environment,
        request: &Request,
        delivery: Delivery,
        spent: &mut Spent,
    ) -> worker::Result<Response> {
        let mut response = if delivery.streaming {
            let position = request.headers().get("Last-Event-ID")?;
            let position = position.as_deref().and_then(Position::parse);
            let cursor = delivery.cursor(position);
            event_stream(delivery.stream, cursor, environment.deployment.keep_alive_ms)?
        } else {
            let outcome = delivery.stream.ended_with().await;
            spent.run = outcome.timings;
            json(outcome.http_status, &outcome.body)?
        };
        if delivery.replayed {
            response.headers_mut().set("Idempotent-Replayed", "true")?;
        }
        Ok(response)
    }

    /// Milliseconds since `since`, which moves to now.
    fn lap(&self, since: &mut u64) -> u64 {
        let now = self.runtime.now_ms();
        now.saturating_sub(std::mem::replace(since, now))
    }

    /// Frees the storage of an object that keeps nothing, or sees to it that an erasure goes on.
    async fn end_erasure(&self) -> Result<(), Fault> {
        if self.host.is_erasing()? {
            return self.alarm.ensure();
        }
        if !self.host.is_empty()? {
            return Ok(());
        }
        // The alarm goes with the rest. A turn that begins meanwhile sets its own.
        self.alarm.is_gone();
        let freed = self.state.storage().delete_all().await;
        freed.map_err(|fault| DatabaseFault(fault.to_string()).into())
    }
}

fn shown<T: Serialize>(view: Result<T, Fault>) -> Result<InvokeResult, Fault> {
    view.map(|view| InvokeResult::success(&view, Vec::new()))
}
