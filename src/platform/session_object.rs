//! The Durable Object of one session, named `{tenant}/{SessionId}`.
//!
//! State: SQLite (see `persistence::schema`), and in memory the turn that runs. Routes: what
//! `entry::Route` finds below `/execute` and `/sessions`. Statuses: the interface, section 3. Alarm:
//! every `TURN_ALARM_MS` while a turn runs, so that the object is not evicted under it, and so that a
//! turn whose instance was lost is taken up.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use worker::{DurableObject, Env, Request, Response, State, durable_object};

use super::answer::{json, refusal, result, target};
use super::environment::environment;
use super::event_stream::event_stream;
use super::object_storage::{ObjectStorage, RowCount};
use super::runtime::Runtime;
use crate::contract::{ErrorCode, Fault, InvokeResult, SessionId, parse};
use crate::entry::{Delivery, Environment, Route, SessionHost, SessionRoute};
use crate::pipeline::Position;

/// The Durable Object of one session.
#[durable_object(alarm)]
pub struct SessionObject {
    env: Env,
    state: Rc<State>,
    host: Rc<SessionHost<Runtime, ObjectStorage>>,
    alarm_set: Cell<bool>,
}

impl DurableObject for SessionObject {
    fn new(state: State, env: Env) -> Self {
        let state = Rc::new(state);
        let rows = Rc::new(RowCount::default());
        let runtime = Rc::new(Runtime::new(env.clone(), Rc::clone(&state), Rc::clone(&rows)));
        let host = SessionHost::new(runtime, ObjectStorage::new(Rc::clone(&state), rows));
        Self { env, state, host, alarm_set: Cell::new(false) }
    }

    async fn fetch(&self, mut request: Request) -> worker::Result<Response> {
        match self.answer(&mut request).await? {
            Ok(response) => Ok(response),
            Err(faults) => refusal(faults),
        }
    }

    async fn alarm(&self) -> worker::Result<Response> {
        self.alarm_set.set(false);
        // An alarm that fails is called again by the runtime, a few times; after that the next
        // request takes the turn up.
        let environment = environment(&self.env).await.map_err(alarm_failed)?;
        self.host.recover(&environment).map_err(alarm_failed)?;
        self.keep_alive(&environment).await?;
        Response::empty()
    }
}

impl SessionObject {
    async fn answer(&self, request: &mut Request) -> worker::Result<Result<Response, Vec<Fault>>> {
        let position = request.headers().get("Last-Event-ID")?.as_deref().and_then(Position::parse);
        let route = match Route::find(request.method().as_ref(), &target(request)) {
            Ok(route) => route,
            Err(fault) => return Ok(Err(vec![fault])),
        };
        let environment = match environment(&self.env).await {
            Ok(environment) => environment,
            Err(fault) => return Ok(Err(vec![fault])),
        };
        let delivery = match route {
            Route::Execute => match parse(&request.bytes().await?) {
                Ok(submission) => self.host.execute(&environment, &submission),
                Err(faults) => return Ok(Err(faults)),
            },
            Route::Session(session, SessionRoute::Stream(turn)) => {
                self.host.watch(&environment, &session, &turn)
            }
            Route::Session(session, route) => {
                return self.view(&environment, &session, route).await;
            }
            Route::Health | Route::Errors => {
                Err(Fault::new(ErrorCode::NotFound, "This is not answered by a session."))
            }
        };
        match delivery {
            Ok(delivery) => {
                self.keep_alive(&environment).await?;
                self.deliver(&environment, delivery, position).await.map(Ok)
            }
            Err(fault) => Ok(Err(vec![fault])),
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
            SessionRoute::Stream(_) => {
                Err(Fault::new(ErrorCode::Internal, "A stream is not a view."))
            }
        };
        // Looking at a turn that lost its instance takes it up.
        self.keep_alive(environment).await?;
        match view {
            Ok(view) => result(&view).map(Ok),
            Err(fault) => Ok(Err(vec![fault])),
        }
    }

    async fn deliver(
        &self,
        environment: &Environment,
        delivery: Delivery,
        position: Option<Position>,
    ) -> worker::Result<Response> {
        let mut response = if delivery.streaming {
            let cursor = delivery.cursor(position);
            event_stream(delivery.stream, cursor, environment.deployment.keep_alive_ms)?
        } else {
            let outcome = delivery.stream.ended_with().await;
            json(outcome.http_status, &outcome.body)?
        };
        if delivery.replayed {
            response.headers_mut().set("Idempotent-Replayed", "true")?;
        }
        Ok(response)
    }

    async fn keep_alive(&self, environment: &Environment) -> worker::Result<()> {
        if self.host.is_running() && !self.alarm_set.replace(true) {
            let after = Duration::from_millis(environment.deployment.turn_alarm_ms);
            self.state.storage().set_alarm(after).await?;
        }
        Ok(())
    }
}

fn alarm_failed(fault: Fault) -> worker::Error {
    worker::Error::RustError(fault.to_string())
}

fn shown<T: Serialize>(view: Result<T, Fault>) -> Result<InvokeResult, Fault> {
    view.map(|view| InvokeResult::success(&view, Vec::new()))
}
