//! Delivers the messages of webhooks (interface §15): at once after the step that wrote them, later by the alarm.
//!
//! One message at a time is on its way, apart from the turns: a slow receiver costs one connection and delays no turn.
//! A message is sent again until its answer is stored, so that no crash loses one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use serde_json::{Value, json};

use crate::catalog::Catalog;
use crate::contract::Fault;
use crate::object::Alarm;
use crate::persistence::{PendingWebhook, SessionStore, WebhookState, WebhookStep};
use crate::ports::{Database, Platform, failure_line};
use crate::webhooks::{Attempt, attempt, next_wait_ms};

/// For how long a catalog without the webhook may be an older one than that which wrote the message, in milliseconds.
/// KV takes up to a minute to show a change everywhere, and an isolate reads it twice a minute.
const CATALOG_DELAY_MS: u64 = 90_000;

/// The deliveries of a session.
#[derive(Debug)]
pub(super) struct WebhookDelivery<P, D> {
    platform: Rc<P>,
    store: Rc<SessionStore<D>>,
    alarm: Rc<Alarm>,
    /// The newest catalog that this instance delivered under.
    catalog: RefCell<Option<Rc<Catalog>>>,
    is_under_way: Cell<bool>,
}

impl<P: Platform, D: Database + 'static> WebhookDelivery<P, D> {
    pub(super) fn new(platform: Rc<P>, store: Rc<SessionStore<D>>, alarm: Rc<Alarm>) -> Self {
        let (catalog, is_under_way) = Default::default();
        Self { platform, store, alarm, catalog, is_under_way }
    }

    /// Begins to deliver what is due, as a task of its own. The alarm is set already: it repeats what a lost instance
    /// has begun.
    pub(super) fn start(self: &Rc<Self>, catalog: &Rc<Catalog>) -> Result<(), Fault> {
        if !self.store.has_webhooks()? {
            return Ok(());
        }
        self.catalog.replace(Some(Rc::clone(catalog)));
        if !self.is_under_way.replace(true) {
            let delivery = Rc::clone(self);
            self.platform.spawn(Box::pin(async move {
                let delivered = delivery.deliver().await;
                delivery.is_under_way.set(false);
                if let Err(fault) = delivered.and_then(|()| delivery.set_alarm()) {
                    delivery.platform.log(deliveries_stopped(&fault));
                }
            }));
        }
        Ok(())
    }

    /// When the next attempt is due; `None` where none is.
    pub(super) fn next_at(&self) -> Result<Option<u64>, Fault> {
        Ok(self.store.next_webhook()?.map(|message| message.next_at))
    }

    /// Delivers until no message is due.
    async fn deliver(&self) -> Result<(), Fault> {
        self.platform.durable().await;
        loop {
            // Nothing is awaited between this read and the request, so nothing is sent of an erased session.
            let Some(message) = self.store.next_webhook()? else { return Ok(()) };
            if message.next_at > self.platform.now_ms() {
                return Ok(());
            }
            let Some(catalog) = self.catalog.borrow().clone() else { return Ok(()) };
            let outcome = match catalog.webhook(&message.webhook) {
                Some(webhook) => {
                    let (id, body) = (&message.message_id, message.body.clone());
                    Some(attempt(self.platform.as_ref(), webhook, id, body).await)
                }
                None => None,
            };
            self.settle(&message, outcome)?;
        }
    }

    /// Records what an attempt came to; `None` where the catalog lacks the webhook.
    fn settle(&self, message: &PendingWebhook, outcome: Option<Attempt>) -> Result<(), Fault> {
        let now = self.platform.now_ms();
        let unknown = "the catalog no longer has the webhook";
        let (status, reason, asked_ms, is_final) = match outcome {
            Some(Attempt::Delivered { status }) => {
                let step = WebhookStep::End(WebhookState::Delivered);
                return self.store.settle_webhook(message, step, Some(status));
            }
            Some(Attempt::Gone) => {
                (Some(410), "the receiver wants no more messages".to_owned(), None, true)
            }
            Some(Attempt::Failed { status, reason, retry_after_ms }) => {
                (status, reason, retry_after_ms, false)
            }
            None => {
                let is_certain = now.saturating_sub(message.created_at) > CATALOG_DELAY_MS;
                (None, unknown.to_owned(), None, is_certain)
            }
        };
        let attempts = message.attempts.saturating_add(1);
        let wait = next_wait_ms(attempts, asked_ms, self.platform.random());
        let wait = wait.filter(|_| !is_final);
        let step = match wait {
            Some(wait) => WebhookStep::Again(now.saturating_add(wait)),
            None => WebhookStep::End(WebhookState::Failed),
        };
        self.store.settle_webhook(message, step, status)?;
        let mut line = match wait {
            Some(wait) => json!({ "event": "webhook_retry", "level": "warn", "again_ms": wait }),
            None => json!({ "event": "webhook_failed", "level": "error" }),
        };
        let facts = json!({
            "webhook": message.webhook, "type": message.event, "turn": message.turn_id.as_str(),
            "attempts": attempts, "http_status": status, "reason": reason,
        });
        if let (Some(line), Value::Object(facts)) = (line.as_object_mut(), facts) {
            line.extend(facts);
        }
        self.platform.log(line);
        Ok(())
    }

    /// Sets the alarm for the next attempt.
    fn set_alarm(&self) -> Result<(), Fault> {
        match self.next_at()? {
            Some(at_ms) => self.alarm.set_by(self.platform.as_ref(), at_ms),
            None => Ok(()),
        }
    }
}

/// The line of the log for deliveries that the storage has stopped. The alarm is set, and begins them again.
pub(super) fn deliveries_stopped(fault: &Fault) -> Value {
    failure_line("webhooks_stopped", "error", fault)
}
