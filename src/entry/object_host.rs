//! What every object that clients reach has in common: requests in, responses out, and an alarm.

use std::rc::Rc;

use super::logged_caller::logged_in_object;
use super::request::{ArrivingBody, RequestHead, forwarded_caller};
use super::request_context::IsolateSettings;
use super::request_id::RequestId;
use super::response::{Response, refusal_line};
use crate::contract::{ErrorCode, Fault, Result};
use crate::identity::ForwardedCaller;
use crate::object::{Alarm, NewerForm};
use crate::ports::{Database, ObjectClass, Platform, failure_line};

/// How many times `TURN_ALARM_MS` an object waits that is not where its tenant is.
const AWAY_TIMES: u64 = 20;

/// An instance of an object, over the object's storage.
pub trait ObjectHost<P: Platform, D: Database + 'static>: Sized {
    const CLASS: ObjectClass;
    /// What a response can stream.
    type Stream;

    /// A host over its object's storage. Nothing is read or written yet.
    fn new(platform: Rc<P>, database: D) -> Self;

    /// Responds to a request. `body` is awaited only by an endpoint that has one.
    async fn response(
        &self,
        source: &IsolateSettings,
        head: &RequestHead<'_>,
        body: impl ArrivingBody,
    ) -> Response<Self::Stream>;

    fn platform(&self) -> &P;

    fn alarm(&self) -> &Alarm;

    /// Does what is due when the alarm rings, and sets the alarm for what is left. `alarm_interval_ms` is `TURN_ALARM_MS`.
    async fn alarm_work(&self, source: &IsolateSettings, alarm_interval_ms: u64) -> Result<()>;

    /// The wait in milliseconds after which the alarm rings again whose work failed.
    fn again_ms(&self, alarm_interval_ms: u64) -> u64 {
        alarm_interval_ms
    }

    /// Whether a newer version wrote what is stored, which is said once.
    fn says_newer_form(&self) -> bool {
        false
    }

    /// Says so where that may be why a request is refused.
    fn note_refusal<T>(&self, responded: &Result<T, Vec<Fault>>) {
        let is_internal = |fault: &Fault| fault.code == ErrorCode::Internal;
        if responded.as_ref().is_err_and(|faults| faults.iter().any(is_internal)) {
            self.says_newer_form();
        }
    }

    /// Does the work of an alarm that has rung, which gets `TURN_ALARM_MS`. Where the work fails, the alarm rings again all
    /// the same: the runtime repeats an alarm that fails a few times, and then drops it for good. Where a newer version
    /// wrote what is stored, the alarm waits for that one.
    ///
    /// # Errors
    /// The next alarm cannot be set: the runtime then repeats this one.
    async fn alarm_rang(&self, source: &IsolateSettings) -> Result<()> {
        let (platform, alarm) = (self.platform(), self.alarm());
        alarm.forget();
        let alarm_interval_ms = source.alarm_interval_ms(platform);
        // Whatever an object does that is not where its tenant is would be of another place.
        if !platform.is_at_home() {
            return alarm.set_in(platform, alarm_interval_ms.saturating_mul(AWAY_TIMES));
        }
        let worked = self.alarm_work(source, alarm_interval_ms).await;
        let Err(fault) = worked else { return Ok(()) };
        if self.says_newer_form() {
            return alarm.set_in(platform, NewerForm::WAIT_MS.max(alarm_interval_ms));
        }
        platform.log(failure_line("alarm_failed", "error", &fault));
        alarm.set_in(platform, self.again_ms(alarm_interval_ms))
    }
}

/// The response to a request: whoever asks speaks the protocol of this version, or nothing is done; a refusal is logged, and
/// the response has the id of its request.
pub(super) async fn responded<P: Platform, S>(
    platform: &P,
    head: &RequestHead<'_>,
    respond: impl AsyncFnOnce(Option<&RequestId>, ForwardedCaller) -> Result<Response<S>, Vec<Fault>>,
) -> Response<S> {
    let id = RequestId::sent(head);
    let responded = match forwarded_caller(head) {
        Ok(caller) => respond(id.as_ref(), caller).await,
        Err(fault) => Err(fault.into()),
    };
    let response = responded.unwrap_or_else(|faults| {
        let mut line = refusal_line(&faults, id.as_ref());
        if let (Some(members), Ok(sent)) = (line.as_object_mut(), forwarded_caller(head)) {
            members.extend(logged_in_object(platform, sent.caller));
        }
        platform.log(line);
        Response::refusal(faults)
    });
    response.with_id(id.as_ref())
}
