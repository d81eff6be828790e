//! The Worker's part of a request: it finds the endpoint, checks the key, reads the body up to its cap
//! and sends all of it to the session's or the workspace's object in one hop (interface §1, §3, §6).

use std::rc::Rc;

use serde_json::json;

use super::authentication::{Caller, Keyring};
use super::body_room::{BodyRoom, LONGEST_BYTES};
use super::cross_origin::{AllowedOrigins, permitted_headers};
use super::file_download::download;
use super::local_access::admit_local;
use super::openapi::openapi;
use super::playground::{is_on, page_headers, page_path};
use super::request_body::read_body;
use crate::contract::{
    ErrorCode, Fault, InvokeResult, SessionId, dictionary, parse, peek_session_id,
};
use crate::entry::request::RequestHead;
use crate::entry::response::{Header, Response, object_failed, refusal_line};
use crate::entry::route::{Route, no_such_endpoint};
use crate::ports::{Deployment, Gateway, ObjectClass, ObjectRequest};

/// The settings that the Worker needs before it asks an object. Variables and secrets never change
/// within an isolate, so an isolate reads them once.
#[derive(Debug)]
pub struct FrontDoor {
    /// `None` while `AUTH` is `none`, and at no other value.
    keyring: Option<Keyring>,
    origins: AllowedOrigins,
    deployment: Result<Deployment, Fault>,
    bodies: Rc<BodyRoom>,
    has_playground: bool,
    version: &'static str,
}

/// The response to a client.
pub enum FrontResponse<G: Gateway> {
    /// A response that the Worker made; its stream is a file's contents.
    Own(Response<G::Contents>),
    /// A response of an object or of the page's files, and the headers to add to it.
    OfObject(G::ObjectResponse, Vec<Header>),
}

/// The faults of a request, and its caller once the key is known.
struct Refused {
    caller: Option<Caller>,
    faults: Vec<Fault>,
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self { caller: None, faults: fault.into() }
    }
}

impl FrontDoor {
    /// Reads the variables. A malformed one is logged and lets nobody in. `version` is the product's.
    pub fn new<G: Gateway>(gateway: &G, version: &'static str) -> Self {
        let variable = |name: &str| gateway.secret(name);
        let is_open = variable("AUTH").as_deref() == Some("none");
        if is_open {
            let message =
                "AUTH=none: everyone on this machine may use this service. For local work only.";
            warn(gateway, message);
        }
        let keyring = variable("API_KEYS")
            .map_or_else(|| Ok(Keyring::default()), |text| Keyring::parse(&text));
        let keyring = keyring.unwrap_or_else(|fault| {
            let message = format!("{fault}. No key opens the door until it is mended.");
            gateway.log(json!({ "event": "keys_invalid", "level": "error", "message": message }));
            Keyring::default()
        });
        let deployment = Deployment::from_variables(&variable).map(|deployment| Deployment {
            max_body_bytes: deployment.max_body_bytes.min(LONGEST_BYTES),
            ..deployment
        });
        Self {
            keyring: (!is_open).then_some(keyring),
            origins: AllowedOrigins::from_variable(variable("ALLOWED_ORIGINS").as_deref()),
            deployment,
            bodies: Rc::default(),
            has_playground: is_on(variable("PLAYGROUND").as_deref()),
            version,
        }
    }

    /// Responds to a client.
    pub async fn response<G: Gateway>(
        &self,
        head: &RequestHead<'_>,
        gateway: &G,
    ) -> FrontResponse<G> {
        let origin = self.permitted_origin(head);
        let responded = match self.preflight(head) {
            Some(checked) => checked.map(FrontResponse::Own).map_err(Refused::from),
            None => self.respond(head, gateway).await,
        };
        let response = responded.unwrap_or_else(|refused| {
            gateway.log(refused.line());
            FrontResponse::Own(Response::refusal(refused.faults))
        });
        match origin {
            None => response,
            Some(origin) => response.with(permitted_headers(origin)),
        }
    }

    /// The response to a browser's preflight request, `None` for any other request.
    fn preflight<S>(&self, head: &RequestHead<'_>) -> Option<Result<Response<S>, Fault>> {
        if head.method != "OPTIONS" {
            return None;
        }
        let origin = head.header("Origin")?;
        let method = head.header("Access-Control-Request-Method")?;
        let checked = Route::find(&method, head.target())
            .and_then(|_| self.origins.preflight(&origin, &method));
        Some(checked.map(|headers| {
            let mut response = Response::empty(204);
            response.headers.extend(headers);
            response
        }))
    }

    async fn respond<G: Gateway>(
        &self,
        head: &RequestHead<'_>,
        gateway: &G,
    ) -> Result<FrontResponse<G>, Refused> {
        let received_at = gateway.now_ms();
        let route = Route::find(head.method, head.target())?;
        let deployment = self.deployment.as_ref().map_err(Fault::clone);
        let public = match &route {
            Route::Playground => return Ok(self.page(head, gateway).await?),
            Route::Health => {
                let health = json!({ "Status": "ok", "Version": self.version });
                Response::result(&InvokeResult::success(health, Vec::new()))
            }
            Route::Errors => Response::result(&InvokeResult::success(dictionary(), Vec::new())),
            Route::OpenApi => {
                let asks_for_keys = self.keyring.is_some();
                Response::json(200, openapi(deployment?, self.version, asks_for_keys))
            }
            Route::File(link) => {
                self.admit_open(head)?;
                download(head, gateway, link).await
            }
            Route::Execute | Route::Session(..) | Route::Workspace(..) => {
                let caller = self.caller(head)?;
                let response = self.ask(head, gateway, &caller, route, received_at).await;
                return response.map_err(|faults| Refused { caller: Some(caller), faults });
            }
        };
        Ok(FrontResponse::Own(public))
    }

    /// The playground's page, or one of its files. The files hold nothing of a tenant, and need no key.
    async fn page<G: Gateway>(
        &self,
        head: &RequestHead<'_>,
        gateway: &G,
    ) -> Result<FrontResponse<G>, Fault> {
        if !self.has_playground {
            return Err(no_such_endpoint());
        }
        let path = page_path(head.target());
        let file = gateway.page_file(path).await.ok_or_else(no_such_endpoint)?;
        Ok(FrontResponse::OfObject(file, page_headers(path, self.keyring.is_none())))
    }

    /// Counts the request against its key's rate, reads its body and sends both to the object.
    async fn ask<G: Gateway>(
        &self,
        head: &RequestHead<'_>,
        gateway: &G,
        caller: &Caller,
        route: Route,
        received_at: u64,
    ) -> Result<FrontResponse<G>, Vec<Fault>> {
        keep_to_rate(gateway, caller).await?;
        let body = if route.has_body() {
            let deployment = self.deployment.as_ref().map_err(Fault::clone)?;
            Some(read_body(head, gateway, deployment, &self.bodies).await?)
        } else {
            None
        };
        let (class, id) = match (route, &body) {
            (Route::Workspace(workspace, _), _) => (ObjectClass::Workspace, workspace),
            (Route::Session(session, _), _) => (ObjectClass::Session, session.to_string()),
            (Route::Execute, Some(body)) => {
                (ObjectClass::Session, body.read(session_of)?.to_string())
            }
            (Route::Execute, None)
            | (
                Route::Playground | Route::Health | Route::Errors | Route::OpenApi | Route::File(_),
                _,
            ) => return Err(Fault::internal("No object is asked.").into()),
        };
        let request = ObjectRequest {
            class,
            name: caller.object_name(&id),
            method: head.method,
            url: head.url,
            last_event_id: head.header("Last-Event-ID"),
            received_at,
            key_id: &caller.key_id,
        };
        match gateway.ask(&request, body).await {
            Ok(response) => Ok(FrontResponse::OfObject(response, Vec::new())),
            Err(fault) => {
                gateway.log(json!({
                    "event": "object_failed", "level": "error", "object": request.name,
                    "fault": fault.0,
                }));
                Ok(FrontResponse::Own(Response::refusal(object_failed().into())))
            }
        }
    }

    fn caller(&self, head: &RequestHead<'_>) -> Result<Caller, Fault> {
        match &self.keyring {
            None => self.admit_open(head).map(|()| Caller::local()),
            Some(keyring) => keyring.admit(head.header("Authorization").as_deref()),
        }
    }

    /// While no key protects an endpoint, refuses a request from elsewhere. Endpoints that show nothing of a
    /// tenant stay open to everyone.
    fn admit_open(&self, head: &RequestHead<'_>) -> Result<(), Fault> {
        if self.keyring.is_some() { Ok(()) } else { admit_local(head, &self.origins) }
    }

    /// The `Origin` header, where `ALLOWED_ORIGINS` lists it.
    fn permitted_origin(&self, head: &RequestHead<'_>) -> Option<String> {
        if self.origins.is_empty() {
            return None;
        }
        head.header("Origin").filter(|origin| self.origins.permits(origin))
    }
}

impl<G: Gateway> FrontResponse<G> {
    /// The same response with more headers.
    fn with(mut self, more: Vec<Header>) -> Self {
        match &mut self {
            Self::Own(response) => response.headers.extend(more),
            Self::OfObject(_, headers) => headers.extend(more),
        }
        self
    }
}

impl Refused {
    fn line(&self) -> serde_json::Value {
        let mut line = refusal_line(&self.faults);
        if let (Some(caller), Some(members)) = (&self.caller, line.as_object_mut()) {
            members.insert("tenant".to_owned(), caller.tenant.as_str().into());
            members.insert("key".to_owned(), caller.key_id.as_str().into());
        }
        line
    }
}

/// The `SessionId` of a submission. A body without one is validated whole, so that the client gets all
/// its faults.
fn session_of(body: &[u8]) -> Result<SessionId, Vec<Fault>> {
    match peek_session_id(body) {
        Some(session) => Ok(session),
        None => parse(body).map(|request| request.session_id().clone()),
    }
}

async fn keep_to_rate<G: Gateway>(gateway: &G, caller: &Caller) -> Result<(), Fault> {
    match gateway.is_within_rate(&caller.rate_key()).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(Fault::new(
            ErrorCode::RateLimited,
            "This key has used up its rate. Wait as Retry-After says, and send the request again.",
        )),
        Err(_) => {
            // A limiter that fails must not close the service.
            warn(gateway, "The rate limiter failed; the request was let in.");
            Ok(())
        }
    }
}

fn warn<G: Gateway>(gateway: &G, message: &str) {
    gateway.log(json!({ "event": "gate", "level": "warn", "message": message }));
}
