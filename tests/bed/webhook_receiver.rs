//! The receiver of webhooks behind every URL of the host `hooks.example`. It takes every message, unless a reply is
//! scripted.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use aptix_edge::ports::{HttpFault, HttpRequest};
use serde_json::Value;

use super::scripted_service::HttpReply;

/// What the receiver does with a message instead of taking it.
#[derive(Clone, Debug)]
pub enum WebhookAnswer {
    Reply(HttpReply),
    /// No reply, for as long as the sender waits.
    Silence,
    Unreachable,
}

/// A message as it came.
#[derive(Clone, Debug)]
pub struct WebhookMessage {
    pub at_ms: u64,
    pub url: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

#[derive(Default)]
pub struct WebhookReceiver {
    received: RefCell<Vec<WebhookMessage>>,
    script: RefCell<VecDeque<WebhookAnswer>>,
}

impl WebhookMessage {
    /// `webhook-id`
    pub fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// `type`
    pub fn event(&self) -> String {
        self.json()["type"].as_str().unwrap().to_owned()
    }
}

impl WebhookReceiver {
    /// Queues what is done with the next messages.
    pub fn script(&self, answers: impl IntoIterator<Item = WebhookAnswer>) {
        self.script.borrow_mut().extend(answers);
    }

    /// All messages in order, refused ones included.
    pub fn received(&self) -> Vec<WebhookMessage> {
        self.received.borrow().clone()
    }

    /// The types of all messages in order.
    pub fn events(&self) -> Vec<String> {
        self.received().iter().map(WebhookMessage::event).collect()
    }

    /// Records a message, and returns the reply; `None` for silence.
    pub(crate) fn take(
        &self,
        at_ms: u64,
        request: &HttpRequest,
    ) -> Option<Result<HttpReply, HttpFault>> {
        let headers = request.headers.iter();
        let message = WebhookMessage {
            at_ms,
            url: request.url.clone(),
            headers: headers.map(|(name, value)| (name.to_lowercase(), value.clone())).collect(),
            body: request.body.clone(),
        };
        self.received.borrow_mut().push(message);
        match self.script.borrow_mut().pop_front() {
            None => Some(Ok(HttpReply::new(204, ""))),
            Some(WebhookAnswer::Reply(reply)) => Some(Ok(reply)),
            Some(WebhookAnswer::Silence) => None,
            Some(WebhookAnswer::Unreachable) => {
                Some(Err(HttpFault::Lost("10.0.0.9 refused".to_owned())))
            }
        }
    }
}
