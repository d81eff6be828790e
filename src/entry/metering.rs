//! Metering (interface §16): with `METERING` bound, each submission writes one data point when its outcome is stored. A
//! point holds counts and names of the catalog, no content and no id of a session, and nothing waits for it.

use std::cell::Cell;

use serde_json::json;

use crate::contract::{ErrorCode, TurnStatus, Usage};
use crate::persistence::{Session, Spent, Turn};
use crate::ports::{DataPoint, LoggedUsers, Platform};

/// The shortest time between two lines about points that were not written, in milliseconds.
const SILENCE_MS: u64 = 60_000;

/// What all objects of an isolate know of their data points.
#[derive(Debug, Default)]
pub(super) struct Metering {
    /// When a failure was last logged.
    failed_at: Cell<Option<u64>>,
}

/// A submission that has ended or paused.
#[derive(Debug, Default)]
pub(super) struct EndedSubmission<'a> {
    pub(super) model: Option<&'a str>,
    /// What names the catalog that it ran under last.
    pub(super) catalog: &'a str,
    /// `None` when the storage failed and left the turn as it was.
    pub(super) status: Option<TurnStatus>,
    pub(super) code: Option<ErrorCode>,
    /// Of this submission alone, as all that follows.
    pub(super) usage: Usage,
    pub(super) spent: Spent,
    pub(super) total_ms: u64,
}

impl<'a> EndedSubmission<'a> {
    /// A submission that ends outside of a run, because its instance was lost.
    pub(super) fn lost(model: &'a str, turn: &'a Turn, code: ErrorCode, now_ms: u64) -> Self {
        let catalog = turn.progress.catalog.as_ref();
        Self {
            model: Some(model),
            catalog: catalog.map_or("", |catalog| catalog.sha256.as_str()),
            status: Some(turn.status),
            code: Some(code),
            usage: turn.submission_usage().unwrap_or_default(),
            spent: turn.progress.spent,
            total_ms: now_ms.saturating_sub(turn.submission_began_at()),
        }
    }
}

impl Metering {
    /// Writes the data point of a submission, where the deployment binds a place for it.
    pub(super) fn record<P: Platform>(
        &self,
        platform: &P,
        session: &Session,
        ended: &EndedSubmission<'_>,
    ) {
        if !platform.is_metered() {
            return;
        }
        let point = data_point(platform, session, ended);
        let Err(failure) = platform.meter(&point) else { return };
        let now = platform.now_ms();
        let is_silent = |at: u64| now.saturating_sub(at) < SILENCE_MS;
        if !self.failed_at.get().is_some_and(is_silent) {
            self.failed_at.set(Some(now));
            let failure = failure.0;
            platform
                .log(json!({ "event": "metering_failed", "level": "warn", "failure": failure }));
        }
    }
}

fn data_point<P: Platform>(
    platform: &P,
    session: &Session,
    ended: &EndedSubmission<'_>,
) -> DataPoint {
    let tenant = platform.tenant().unwrap_or_default();
    let users = LoggedUsers::parse(platform.secret("LOG_USERS").as_deref()).unwrap_or_default();
    let user = platform.user().and_then(|user| users.name(tenant, user));
    let blobs = [
        "submission",
        user.as_deref().unwrap_or_default(),
        ended.model.unwrap_or_default(),
        &session.agent_context,
        &session.conversation_context,
        ended.status.map_or("", TurnStatus::as_str),
        ended.code.map_or("", ErrorCode::as_str),
        ended.catalog,
    ];
    let usage = ended.usage;
    let (rows_read, rows_written) = platform.rows();
    let doubles = [
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.completion_tokens,
        usage.reasoning_tokens,
        usage.total_tokens,
        ended.spent.model_calls,
        ended.spent.tool_calls,
        ended.spent.model_ms,
        ended.spent.tools_ms,
        ended.total_ms,
        rows_read as u64,
        rows_written as u64,
    ];
    DataPoint {
        indexes: [tenant.to_owned()],
        blobs: blobs.map(str::to_owned).into(),
        doubles: doubles.map(|number| number as f64).into(),
    }
}
