//! The Worker's part of a request: it finds the endpoint and the caller, reads the body up to its cap
//! and sends all of it to the session's or the workspace's object in one hop (interface §1, §3, §6).

use std::borrow::Cow;
use std::rc::Rc;

use futures_util::FutureExt;
use serde_json::json;

use super::addressee::addressee;
use super::body_room::{BodyRoom, HeldBody, LONGEST_BYTES};
use super::body_shares::Owner;
use super::credentials::{Credentials, Refused, refuse_ticket_in_url, warn};
use super::cross_origin::{AllowedOrigins, permitted_headers};
use super::file_download::download;
use super::health::Health;
use super::openapi::openapi;
use super::playground::{page_headers, page_path};
use super::request_body::read_body;
use super::revocation::refuse_revoked;
use super::tenant_terms::{concerns_no_tenant, hold_to_terms};
use super::tickets::{Arrival, mint_ticket};
use crate::contract::{ErrorCode, Fault, InvokeResult, Result, dictionary, json_text};
use crate::entry::endpoints::Found;
use crate::entry::logged_caller::logged;
use crate::entry::other_version::unanswered;
use crate::entry::request::{RequestHead, decoded};
use crate::entry::request_id::RequestId;
use crate::entry::response::{Header, Response, object_failed, refusal_line};
use crate::entry::route::{Route, TurnRoute, no_such_endpoint, query_members};
use crate::entry::trace_header::trace_context;
use crate::identity::{Caller, Tenants};
use crate::ports::{
    Deployment, Gateway, INNER_PROTOCOL, LoggedUsers, ObjectClass, ObjectIdentity, ObjectRequest,
};

/// The settings that the Worker needs before it asks an object. Variables and secrets never change
/// within an isolate, so an isolate reads them once.
pub struct FrontDoor {
    credentials: Credentials,
    origins: AllowedOrigins,
    deployment: Result<Deployment>,
    tenants: Result<Tenants>,
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

impl FrontDoor {
    /// Reads the variables. A malformed one is logged and lets nobody in. `version` is the product's.
    pub fn new<G: Gateway>(gateway: &G, version: &'static str) -> Self {
        let variable = |name: &str| gateway.secret(name);
        let deployment = Deployment::from_variables(&variable).map(|deployment| Deployment {
            max_body_bytes: deployment.max_body_bytes.min(LONGEST_BYTES),
            ..deployment
        });
        Self {
            credentials: Credentials::from_variables(gateway),
            origins: AllowedOrigins::from_variable(variable("ALLOWED_ORIGINS").as_deref()),
            deployment,
            tenants: Tenants::from_variables(&variable),
            bodies: Rc::default(),
            has_playground: variable("PLAYGROUND").as_deref() == Some("on"),
            version,
        }
    }

    /// Responds to a client.
    pub async fn response<G: Gateway>(
        &self,
        head: &RequestHead<'_>,
        gateway: &G,
    ) -> FrontResponse<G> {
        let origin = head.header("Origin").filter(|origin| self.origins.permits(origin));
        let id = RequestId::of_client(head, gateway);
        let responded = match self.preflight(head) {
            Some(checked) => checked.map(FrontResponse::Own).map_err(Refused::from),
            None => self.respond(head, gateway, &id).await,
        };
        let response = responded.unwrap_or_else(|refused| {
            gateway.log(refusal_of(&refused, self.credentials.users, &id));
            FrontResponse::Own(Response::refusal(refused.faults))
        });
        let mut response = response.with_id(&id);
        // Also of a refusal: the ticket may still hold.
        if query_members(head.target(), "Ticket").next().is_some() {
            response = response.with(vec![("Referrer-Policy", "no-referrer".to_owned())]);
        }
        match origin {
            None => response,
            Some(origin) => response.with(permitted_headers(origin)),
        }
    }

    /// The response to a browser's preflight request, `None` for any other request.
    fn preflight<S>(&self, head: &RequestHead<'_>) -> Option<Result<Response<S>>> {
        if head.method != "OPTIONS" {
            return None;
        }
        let origin = head.header("Origin")?;
        head.header("Access-Control-Request-Method")?;
        // What else is wrong with the request, its own response says, which the page can read.
        Some(self.origins.preflight(&origin).map(|headers| {
            let mut response = Response::empty(204);
            response.headers.extend(headers);
            response
        }))
    }

    async fn respond<G: Gateway>(
        &self,
        head: &RequestHead<'_>,
        gateway: &G,
        id: &RequestId,
    ) -> Result<FrontResponse<G>, Refused> {
        let received_at = gateway.now_ms();
        if let Err(fault) = &self.tenants
            && !concerns_no_tenant(head.target())
        {
            return Err(fault.clone().into());
        }
        refuse_ticket_in_url(head)?;
        let found = Found::of(head.method, head.target())?;
        let deployment = self.deployment.as_ref().map_err(Fault::clone);
        let public = match &found.route {
            Route::Playground => return Ok(self.page(head, gateway, id).boxed_local().await?),
            Route::Health => Response::result(&InvokeResult::success(Health::of(self.version))),
            Route::Errors => Response::result(&InvokeResult::success(dictionary())),
            Route::OpenApi => {
                let asks_for_keys = self.credentials.are_asked_for();
                Response::json(200, openapi(deployment?, self.version, asks_for_keys))
            }
            Route::File(link) => {
                self.credentials.admit_open(head, &self.origins)?;
                download(head, gateway, link).boxed_local().await
            }
            // Any other route asks for a credential.
            _ => {
                let mut caller =
                    self.credentials.admit(gateway, head, &self.origins, received_at).await?;
                let tenants = self.tenants.as_ref().map_err(Fault::clone)?;
                let held = hold_to_terms(gateway, tenants, &mut caller);
                let arrival = Arrival { head, id, received_at };
                let response = match held {
                    Ok(()) => self.serve(&arrival, gateway, &caller, &found).await,
                    Err(fault) => Err(fault.into()),
                };
                return response.map_err(|faults| Refused {
                    caller: Some(Box::new(caller)),
                    faults,
                    reason: None,
                });
            }
        };
        Ok(FrontResponse::Own(public))
    }

    /// The playground's page, or one of its files. The files hold nothing of a tenant, and need no key.
    async fn page<G: Gateway>(
        &self,
        head: &RequestHead<'_>,
        gateway: &G,
        id: &RequestId,
    ) -> Result<FrontResponse<G>> {
        if !self.has_playground {
            return Err(no_such_endpoint());
        }
        let path = page_path(head.target());
        let file = gateway.page_file(path).await.ok_or_else(no_such_endpoint)?;
        let mut headers = page_headers(path, !self.credentials.are_asked_for());
        headers.push(id.header());
        Ok(FrontResponse::OfObject(file, headers))
    }

    /// Counts the request against its caller's rate, reads its body and sends both to the object.
    async fn serve<G: Gateway>(
        &self,
        arrival: &Arrival<'_>,
        gateway: &G,
        caller: &Caller,
        found: &Found,
    ) -> Result<FrontResponse<G>, Vec<Fault>> {
        let Arrival { head, id, received_at } = *arrival;
        let Found { endpoint, route } = found;
        keep_to_rate(gateway, caller).await?;
        let deployment = self.deployment.as_ref().map_err(Fault::clone)?;
        let body = if endpoint.has_body {
            Some(read_body(head, gateway, deployment, &self.bodies, Owner::of(caller)).await?)
        } else {
            None
        };
        if let (Route::Tickets, Some(body)) = (route, &body) {
            refuse_revoked(gateway, caller).await?;
            let minting = |body: &[u8]| {
                mint_ticket(arrival, gateway, &self.credentials, caller, endpoint.needs, body)
            };
            return body.read(minting)?.map(FrontResponse::Own);
        }
        let (class, name) = addressee(caller, found, body.as_ref())?;
        if class == ObjectClass::Workspace {
            refuse_revoked(gateway, caller).await?;
        }
        if caller.has_key() && caller.user.is_some() {
            let mut line = json!({
                "event": "act_as", "level": "info", "tenant": caller.tenant,
                "request_id": id.as_str(),
            });
            if let Some(members) = line.as_object_mut() {
                members.extend(logged(caller.record(), &caller.tenant, self.credentials.users));
            }
            gateway.log(line);
        }
        let sent = json_text("The caller", &caller.sent())?;
        let request = ObjectRequest {
            protocol: INNER_PROTOCOL,
            class,
            name,
            method: head.method,
            url: head.url,
            last_event_id: position(head, route)?,
            prefer: preference(head, route),
            trace: trace_context(head, route),
            received_at,
            request_id: id.as_str(),
            caller: &sent,
        };
        let check_body = body.as_ref().map(HeldBody::check_later);
        match gateway.ask(&request, body).await {
            Ok(response) => Ok(FrontResponse::OfObject(response, Vec::new())),
            Err(fault) => {
                // Where its body had to give way, the object is not to blame.
                check_body.map_or(Ok(()), |check| check())?;
                let mut line = json!({
                    "event": "object_failed", "level": "error", "fault": fault.to_string(),
                    "request_id": id.as_str(),
                });
                let object = ObjectIdentity::new(class, Some(request.name));
                object.sign(&mut line, self.credentials.users);
                gateway.log(line);
                let refused = unanswered(&fault, object_failed());
                Ok(FrontResponse::Own(Response::refusal(refused.into())))
            }
        }
    }
}

impl<G: Gateway> FrontResponse<G> {
    /// The same response with the id of its request, which a response of an object has already.
    fn with_id(self, id: &RequestId) -> Self {
        match self {
            Self::Own(response) => Self::Own(response.with_id(Some(id))),
            Self::OfObject(..) => self,
        }
    }

    /// The same response with more headers.
    fn with(mut self, more: Vec<Header>) -> Self {
        match &mut self {
            Self::Own(response) => response.headers.extend(more),
            Self::OfObject(_, headers) => headers.extend(more),
        }
        self
    }
}

/// The line of the log for a request that is refused.
fn refusal_of(refused: &Refused, users: LoggedUsers, id: &RequestId) -> serde_json::Value {
    let mut line = refusal_line(&refused.faults, Some(id));
    let Some(members) = line.as_object_mut() else { return line };
    if let Some(reason) = refused.reason {
        members.insert("reason".to_owned(), reason.into());
    }
    if let Some(caller) = &refused.caller {
        members.insert("tenant".to_owned(), caller.tenant.as_str().into());
        members.extend(logged(caller.record(), &caller.tenant, users));
    }
    line
}

/// The position from which a stream goes on: the header, or for a new `EventSource`, which sends none, the query.
fn position(head: &RequestHead<'_>, route: &Route) -> Result<Option<String>> {
    let header = head.header("Last-Event-ID");
    match route {
        Route::Turn(_, _, TurnRoute::Stream) if header.is_none() => {
            let after = query_members(head.target(), "After").next().map(decoded).transpose()?;
            // No position has what no header can hold.
            Ok(after.filter(|after| !after.contains(char::is_control)).map(Cow::into_owned))
        }
        _ => Ok(header),
    }
}

/// How the client of a submission wants it answered; no other endpoint asks.
fn preference(head: &RequestHead<'_>, route: &Route) -> Option<String> {
    if matches!(route, Route::Execute) { head.header("Prefer") } else { None }
}

async fn keep_to_rate<G: Gateway>(gateway: &G, caller: &Caller) -> Result<()> {
    let (key, is_of_user) = caller.rate_key();
    match gateway.is_within_rate(&key, is_of_user).await {
        Ok(true) => Ok(()),
        Ok(false) => {
            let whose = if is_of_user { "user" } else { "key" };
            let message = format!(
                "This {whose} has used up its rate. Wait as Retry-After says, and send the request again."
            );
            Err(Fault::new(ErrorCode::RateLimited, message).with("Limit", whose))
        }
        Err(_) => {
            // A limiter that fails must not close the service.
            warn(gateway, "The rate limiter failed; the request was let in.");
            Ok(())
        }
    }
}
