//! The object of one user (interface §13): its endpoints, what sessions ask it, and its alarm.
//!
//! It has no memory of its own but the alarm and receipts that are not final: between two awaits the index decides.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::rc::Rc;

use super::session_asking::ask_session;
use crate::contract::{Fault, InvokeResult, Result, SessionId, parse_rename};
use crate::entry::object_host::{ObjectHost, responded};
use crate::entry::object_question::{answered_elsewhere, read, reply};
use crate::entry::request::{ArrivingBody, RequestHead, received_at};
use crate::entry::request_context::IsolateSettings;
use crate::entry::request_id::RequestId;
use crate::entry::response::{PlainResponse, Response, credential_expired, object_failed};
use crate::entry::route::{Route, SessionRoute, UserRoute};
use crate::identity::{ForwardedCaller, Grants};
use crate::object::{Alarm, Backoff, NewerForm};
use crate::persistence::ErasureReceipt;
use crate::ports::{Database, Deployment, ObjectClass, ObjectQuestion, Platform};
use crate::users::{
    Ending, LeaseQuestion, ListingState, MOST_SKEW_MS, Registering, Registration,
    RegistrationReply, Revocation, RevokedQuestion, SessionNews, SessionSummary, SummaryQuestion,
    UserIndex,
};

/// The attempts to bring an earlier incarnation of a session to its end before the session is registered.
const MOST_ATTEMPTS: u32 = 3;

/// The object of one user.
pub struct UserHost<P, D> {
    pub(super) platform: Rc<P>,
    pub(super) index: UserIndex<D>,
    pub(super) alarm: Alarm,
    newer_form: NewerForm,
    /// `TURN_ALARM_MS`, as what runs at present has read it.
    pub(super) alarm_interval_ms: Cell<u64>,
    /// The passes in a row in which a session could not be erased.
    pub(super) removals: Backoff,
    /// The receipts of sessions whose responses at the model service are still to be deleted.
    pub(super) underway: RefCell<BTreeMap<SessionId, ErasureReceipt>>,
}

impl<P: Platform, D: Database + 'static> ObjectHost<P, D> for UserHost<P, D> {
    const CLASS: ObjectClass = ObjectClass::User;
    type Stream = Infallible;

    fn new(platform: Rc<P>, database: D) -> Self {
        Self {
            platform,
            index: UserIndex::new(database),
            alarm: Alarm::default(),
            newer_form: NewerForm::default(),
            alarm_interval_ms: Cell::new(Deployment::default().turn_alarm_ms),
            removals: Backoff::default(),
            underway: RefCell::default(),
        }
    }

    async fn response(
        &self,
        source: &IsolateSettings,
        head: &RequestHead<'_>,
        body: impl ArrivingBody,
    ) -> PlainResponse {
        let respond = async |_: Option<&RequestId>, caller: ForwardedCaller| {
            let responded = self.respond(source, head, &caller.grants, body).await;
            self.note_refusal(&responded);
            responded
        };
        responded(self.platform.as_ref(), head, respond).await
    }

    fn platform(&self) -> &P {
        &self.platform
    }

    fn alarm(&self) -> &Alarm {
        &self.alarm
    }

    async fn alarm_work(&self, _: &IsolateSettings, alarm_interval_ms: u64) -> Result<()> {
        self.alarm_interval_ms.set(alarm_interval_ms);
        self.resume_removals().await
    }

    fn again_ms(&self, alarm_interval_ms: u64) -> u64 {
        self.removals.note(true);
        self.removals.wait_ms(alarm_interval_ms)
    }

    fn says_newer_form(&self) -> bool {
        self.newer_form.say(self.platform.as_ref(), self.index.newer_form().unwrap_or_default())
    }
}

impl<P: Platform, D: Database> UserHost<P, D> {
    async fn respond(
        &self,
        source: &IsolateSettings,
        head: &RequestHead<'_>,
        grants: &Grants,
        body: impl ArrivingBody,
    ) -> Result<PlainResponse, Vec<Fault>> {
        let platform = self.platform.as_ref();
        let target = head.target();
        self.alarm_interval_ms.set(source.alarm_interval_ms(platform));
        if let Some(asked) = ObjectQuestion::parse(target) {
            return Ok(self.answer(source, asked, body).await?);
        }
        let route = Route::find(head.method, target)?;
        if self.revoked()?.revokes(grants.issued_at) {
            return Err(credential_expired().into());
        }
        let received_at = received_at(head, platform);
        let named = grants.sessions.as_deref();
        let result = match &route {
            Route::Sessions(filter) => {
                let catalog = source.catalog(platform).await.ok();
                self.list(catalog, filter, named).await?
            }
            Route::Session(id, SessionRoute::Rename) => {
                let title = parse_rename(&body.await.map_err(|_| object_failed())?)?;
                let catalog = source.catalog(platform).await.ok();
                self.rename(catalog, id, &title).await?
            }
            Route::Session(id, SessionRoute::Erase) => {
                InvokeResult::success(self.erase_session(id, received_at).await?)
            }
            Route::User(user, UserRoute::View) => {
                let catalog = source.catalog(platform).await.ok();
                self.view(catalog, user).await?
            }
            Route::User(user, UserRoute::Revoke) => self.revoke(user).await?,
            Route::User(user, UserRoute::Erase) => self.erase_user(user, received_at).await?,
            _ => return Err(answered_elsewhere().into()),
        };
        Ok(Response::result(&result))
    }

    /// The reply to a question of a session, or of whoever lets a credential in.
    async fn answer(
        &self,
        source: &IsolateSettings,
        asked: ObjectQuestion,
        body: impl ArrivingBody,
    ) -> Result<PlainResponse> {
        let platform = self.platform.as_ref();
        match asked {
            ObjectQuestion::Register => {
                reply::<Registration, _>(&self.register(source, &read(body).await?).await?)
            }
            ObjectQuestion::Report => {
                reply::<SessionNews, _>(&self.take_report(&read(body).await?).await?)
            }
            ObjectQuestion::Lease => {
                reply::<LeaseQuestion, _>(&self.index.lease(&read(body).await?, platform.now_ms())?)
            }
            ObjectQuestion::Revoked => reply::<RevokedQuestion, _>(&self.revoked()?),
            ObjectQuestion::Search
            | ObjectQuestion::Tools
            | ObjectQuestion::Keys
            | ObjectQuestion::Summary
            | ObjectQuestion::Erase
            | ObjectQuestion::Collected
            | ObjectQuestion::Revoke
            | ObjectQuestion::Fork
            | ObjectQuestion::ForkPart => Err(answered_elsewhere()),
        }
    }

    /// Which credentials of the user are revoked.
    pub(super) fn revoked(&self) -> Result<Revocation> {
        let credentials_valid_from =
            self.index.user()?.map_or(0, |user| user.credentials_valid_from);
        Ok(Revocation { credentials_valid_from })
    }

    /// Registers a session that is about to begin, durably.
    async fn register(
        &self,
        source: &IsolateSettings,
        new: &Registration,
    ) -> Result<RegistrationReply> {
        let platform = self.platform.as_ref();
        let mut uncounted = new.fork_bytes;
        for _ in 0..MOST_ATTEMPTS {
            let user = self.index.user()?;
            let (credentials_valid_from, erased_at) =
                user.map_or((0, 0), |user| (user.credentials_valid_from, user.erased_at));
            // After an erasure by a clock that was set back since, no session would begin until it has caught up.
            let latest = platform.now_ms().saturating_add(MOST_SKEW_MS);
            if (1..=latest).contains(&erased_at) && new.received_at <= erased_at {
                return Ok(RegistrationReply::Erased);
            }
            if (Revocation { credentials_valid_from }).revokes(new.issued_at) {
                return Ok(RegistrationReply::Revoked);
            }
            if let Some(bytes) = uncounted.take() {
                let most = source.deployment(platform)?.max_fork_bytes_per_hour;
                if let Err(retry_after_ms) = self.index.copy(bytes, most, platform.now_ms())? {
                    return Ok(RegistrationReply::CopiedTooMuch { most, retry_after_ms });
                }
            }
            match self.index.register(new, platform.now_ms())? {
                Registering::Registered(incarnation) => {
                    return Ok(RegistrationReply::Registered {
                        incarnation,
                        credentials_valid_from,
                    });
                }
                Registering::Leaving(known) => {
                    self.remove(&known, 0, Ending::Now).await?;
                }
            }
        }
        Ok(RegistrationReply::Failed)
    }

    /// Takes over what a session tells of itself. One whose retention is over is erased by the alarm, which rings at
    /// once.
    async fn take_report(&self, told: &SessionNews) -> Result<Revocation> {
        let platform = self.platform.as_ref();
        if self.index.session(&told.session_id)?.is_none() {
            self.take_in(told).await?;
        }
        self.index.report(&told.session_id, &told.summary)?;
        if let Some(ended) = told.ended_lease {
            self.index.take_back(ended, platform.now_ms())?;
        }
        if told.expired
            && let Some(known) = self.index.session(&told.session_id)?
            && known.summary.incarnation == told.summary.incarnation
            && !known.listing_state.is_leaving()
        {
            self.alarm.set_in(platform, 0)?;
            self.index.mark(&known, ListingState::Expiring)?;
        }
        self.revoked()
    }

    /// Takes in a session that reports and that the index does not know: it began with a version that registered none. One
    /// that was erased since it sent the report is none, so it is asked. One that began before the user was erased is
    /// erased now.
    async fn take_in(&self, told: &SessionNews) -> Result<()> {
        let platform = self.platform.as_ref();
        let (id, incarnation) = (&told.session_id, told.summary.incarnation);
        let reply = ask_session(platform, id, &SummaryQuestion { incarnation }).await?;
        let same = |summary: &SessionSummary| summary.incarnation == incarnation;
        let Some(summary) = reply.summary.filter(same) else { return Ok(()) };
        if self.index.session(id)?.is_some() {
            return Ok(());
        }
        let erased_at = self.index.user()?.map_or(0, |user| user.erased_at);
        let listing_state = if summary.created_at <= erased_at {
            self.set_for_pass()?;
            ListingState::Erasing
        } else {
            ListingState::Listed
        };
        self.index.take_in(id, &summary, listing_state, platform.now_ms())
    }
}
