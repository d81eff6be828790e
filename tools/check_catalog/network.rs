//! The real network as the services of a test bed: the Worker's own code runs on the bed, and what it sends goes
//! out. Of each exchange a record is kept, from which the report says what a service refused.

use std::cell::{Cell, RefCell};
use std::io::{BufReader, Read};
use std::rc::Rc;
use std::time::Duration;

use aptix_edge::catalog::{Catalog, NeededSecret};
use aptix_edge::ports::{Deployment, HttpFault, HttpMethod, HttpRequest};
use bed::{Bed, HttpReply, LoneStep, Piece};
use serde_json::Value;
use ureq::http::{Response, request};
use ureq::{Agent, Body};

use crate::secrets::Secrets;

/// The longest exchange.
const PATIENCE: Duration = Duration::from_secs(120);
/// The longest body that is read, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;
/// The longest message of a service that is shown, in characters.
const MESSAGE: usize = 200;

/// What is asked: a catalog without faults, and the deployment as far as it is known here.
pub(crate) struct Online {
    pub(crate) catalog: Catalog,
    /// The catalog's own text.
    pub(crate) text: String,
    pub(crate) secrets: Secrets,
    pub(crate) needed: Vec<NeededSecret>,
}

impl Online {
    /// The first secret under a place of the catalog that is not known here, as a sentence.
    pub(crate) fn missing_secret(&self, place: &str) -> Option<String> {
        let mut under = self.needed.iter().filter(|secret| secret.path.starts_with(place));
        let missing = under.find(|secret| self.secrets.value(&secret.name).is_none())?;
        Some(format!("the secret {} is in neither the environment nor .dev.vars", missing.name))
    }

    /// A deployment with this catalog whose services are the real ones, and the record of what it sends.
    pub(crate) fn deployed(&self, catalog: String) -> (Bed, Rc<Network>) {
        let (bed, network) = (Bed::new(), Rc::new(Network::new()));
        bed.world.secrets.borrow_mut().clear();
        bed.deploy("AUTH", "none");
        for name in self.names() {
            if let Some(value) = self.secrets.value(name) {
                bed.deploy(kept(name), value);
            }
        }
        bed.keep_catalog(catalog);
        bed.world.executor.keep_real_time();
        let player = Rc::clone(&network);
        bed.world.player.replace(Some(Rc::new(move |request| Some(player.reply(request)))));
        (bed, network)
    }

    /// The machine for one step of the Worker's that needs no session, and the record of what it sends.
    pub(crate) fn machine(&self) -> (LoneStep, Rc<Network>) {
        let network = Rc::new(Network::new());
        let player = Rc::clone(&network);
        let machine = LoneStep::played_by(move |request| Some(player.reply(request)));
        let known = self.names().filter_map(|name| Some((name, self.secrets.value(name)?)));
        let machine = known
            .fold(machine, |machine, (name, value)| machine.with_secret(kept(name), kept(value)));
        (machine, network)
    }

    /// A service's message on one line, without secrets.
    pub(crate) fn shown(&self, message: &str) -> String {
        let clean = self.secrets.removed_from(message, &self.needed);
        let clean: Vec<&str> = clean.split_whitespace().collect();
        clean.join(" ").chars().take(MESSAGE).collect()
    }

    /// The secrets that the catalog names, and the variables of the deployment.
    fn names(&self) -> impl Iterator<Item = &str> {
        let secrets = self.needed.iter().map(|secret| secret.name.as_str());
        secrets.chain(Deployment::VARIABLES.iter().map(|(name, _)| *name))
    }
}

/// The bed keeps names for as long as the program runs, which is not long.
fn kept(text: &str) -> &'static str {
    text.to_owned().leak()
}

/// The machine's network, with a record.
pub(crate) struct Network {
    agent: Agent,
    exchanges: RefCell<Vec<Exchange>>,
    /// The next response breaks after so many events.
    cut_after: Cell<Option<usize>>,
    /// The next call of a model is answered as by a service whose quota is spent, and goes nowhere.
    is_spent: Cell<bool>,
}

/// One request, and what came of it.
#[derive(Clone)]
pub(crate) struct Exchange {
    pub(crate) method: HttpMethod,
    /// `null` where the request has no body.
    pub(crate) asked: Value,
    /// Absent where no response came, or none to its end.
    pub(crate) status: Option<u16>,
    /// The response was a stream of events.
    pub(crate) streamed: bool,
    /// The service's message, or the machine's; empty for a success.
    pub(crate) message: String,
}

impl Network {
    fn new() -> Self {
        let config = Agent::config_builder().http_status_as_error(false).max_redirects(0);
        let config = config.timeout_global(Some(PATIENCE)).user_agent("aptix-edge check-catalog");
        Self {
            agent: config.build().new_agent(),
            exchanges: RefCell::default(),
            cut_after: Cell::default(),
            is_spent: Cell::default(),
        }
    }

    /// The record so far.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.borrow().clone()
    }

    /// Has the next response break after so many events.
    pub(crate) fn cut_after(&self, events: usize) {
        self.cut_after.set(Some(events));
    }

    /// Has the next call of a model meet a service whose quota is spent.
    pub(crate) fn spend(&self) {
        self.is_spent.set(true);
    }

    /// Why the latest exchange came to nothing.
    pub(crate) fn latest_fault(&self) -> Option<String> {
        self.exchanges
            .borrow()
            .last()
            .map(|exchange| exchange.message.clone())
            .filter(|message| !message.is_empty())
    }

    fn reply(&self, request: &HttpRequest) -> Result<HttpReply, HttpFault> {
        if request.method == HttpMethod::Post && self.is_spent.take() {
            return Ok(HttpReply::new(402, "{}"));
        }
        let asked = serde_json::from_str(&request.body).unwrap_or_default();
        let mut exchange = Exchange {
            method: request.method,
            asked,
            status: None,
            streamed: false,
            message: String::new(),
        };
        let cut = self.cut_after.take();
        let reply = self.sent(request).and_then(|response| read(response, cut, &mut exchange));
        if let Err(fault) = &reply {
            exchange.message = fault.to_string();
        }
        self.exchanges.borrow_mut().push(exchange);
        reply.map_err(|fault| HttpFault::Lost(fault.to_string()))
    }

    fn sent(&self, request: &HttpRequest) -> Result<Response<Body>, ureq::Error> {
        let method = match request.method {
            HttpMethod::Post => "POST",
            HttpMethod::Get => "GET",
            HttpMethod::Delete => "DELETE",
        };
        let mut parts = request::Builder::new().method(method).uri(&request.url);
        // As the Worker: only what has a body has a type, which the catalog may name.
        let has_type =
            request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if request.method == HttpMethod::Post && !has_type {
            parts = parts.header("Content-Type", "application/json");
        }
        for (name, value) in &request.headers {
            parts = parts.header(name, value);
        }
        match request.method {
            HttpMethod::Post => self.agent.run(parts.body(request.body.as_str())?),
            HttpMethod::Get | HttpMethod::Delete => self.agent.run(parts.body(())?),
        }
    }
}

/// Reads a response to its end, or to so many events, and notes what it was.
fn read(
    mut response: Response<Body>,
    cut: Option<usize>,
    exchange: &mut Exchange,
) -> Result<HttpReply, ureq::Error> {
    let status = response.status().as_u16();
    let headers = response.headers().iter();
    let headers: Vec<(String, String)> = headers
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    let is_success = (200..300).contains(&status);
    let body = match cut.filter(|_| is_success) {
        Some(events) => first_events(response.body_mut().as_reader(), events),
        None => response.body_mut().with_config().limit(LONGEST).read_to_vec()?,
    };
    let text = String::from_utf8_lossy(&body);
    exchange.status = Some(status);
    exchange.streamed = headers
        .iter()
        .any(|(name, value)| name == "content-type" && value.starts_with("text/event-stream"));
    if !is_success {
        exchange.message = format!("{status} {}", message_in(&text)).trim_end().to_owned();
    }
    let broken = cut.filter(|_| is_success).map(|_| Piece::Broken);
    let reply = HttpReply::in_pieces(status, [Piece::Bytes(body)].into_iter().chain(broken));
    Ok(headers.iter().fold(reply, |reply, (name, value)| reply.with(name, value)))
}

/// The first events of a stream: what the service has not sent by then is not waited for.
fn first_events(reader: impl Read, events: usize) -> Vec<u8> {
    let (mut body, mut come) = (Vec::new(), 0);
    for byte in BufReader::new(reader).bytes().map_while(Result::ok) {
        body.push(byte);
        come += usize::from(body.ends_with(b"\n\n"));
        if come == events {
            break;
        }
    }
    body
}

/// The message of a refusal, in the forms in which services write one.
fn message_in(text: &str) -> String {
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    let error = ["error", "detail", "message"].iter().find_map(|name| body.get(name));
    match error {
        Some(Value::Object(error)) => {
            let text = |name| error.get(name).and_then(Value::as_str);
            let parts = [text("code").or(text("type")), text("message")];
            parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
        }
        Some(Value::String(message)) => message.clone(),
        Some(other) => other.to_string(),
        None => text.to_owned(),
    }
}
