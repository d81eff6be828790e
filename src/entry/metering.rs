//! Metering (interface §16): with `METERING` bound, each submission writes one data point when its outcome is stored. A
//! point holds counts and names of the catalog, no content and no id of a session, and nothing waits for it.

use std::cell::Cell;

use serde_json::json;

use crate::contract::{ErrorCode, TurnStatus};
use crate::persistence::Session;
use crate::ports::{DataPoint, LoggedUsers, Platform};
use crate::reasoner::RunSummary;

/// The shortest time between two lines about points that were not written, in milliseconds.
const SILENCE_MS: u64 = 60_000;

/// What all objects of an isolate know of their data points.
#[derive(Debug, Default)]
pub(super) struct Metering {
    /// When a failure was last logged.
    failed_at: Cell<Option<u64>>,
}

impl Metering {
    /// Writes the data point of a submission that has ended or paused, where the deployment binds a place for it.
    pub(super) fn record<P: Platform>(&self, platform: &P, session: &Session, report: &RunSummary) {
        if !platform.is_metered() {
            return;
        }
        let point = data_point(platform, session, report);
        let Err(failure) = platform.meter(&point) else { return };
        let now = platform.now_ms();
        let is_silent = |at: u64| now.saturating_sub(at) < SILENCE_MS;
        if !self.failed_at.get().is_some_and(is_silent) {
            self.failed_at.set(Some(now));
            let failure = failure.to_string();
            platform
                .log(json!({ "event": "metering_failed", "level": "warn", "failure": failure }));
        }
    }
}

fn data_point<P: Platform>(platform: &P, session: &Session, report: &RunSummary) -> DataPoint {
    let tenant = platform.tenant().unwrap_or_default();
    let users = LoggedUsers::parse(platform.secret("LOG_USERS").as_deref()).unwrap_or_default();
    let user = platform.user().and_then(|user| users.name(tenant, user));
    let blobs = [
        "submission",
        user.as_deref().unwrap_or_default(),
        report.model.as_deref().unwrap_or_default(),
        &session.agent_context,
        &session.conversation_context,
        report.status.map_or("", TurnStatus::as_str),
        report.code.map_or("", ErrorCode::as_str),
        &report.catalog,
    ];
    let usage = report.usage.unwrap_or_default();
    let (rows_read, rows_written) = platform.rows();
    let doubles = [
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.completion_tokens,
        usage.reasoning_tokens,
        usage.total_tokens,
        report.spent.model_calls,
        report.spent.tool_calls,
        report.spent.model_ms,
        report.spent.tools_ms,
        platform.now_ms().saturating_sub(report.submission_began_at),
        rows_read as u64,
        rows_written as u64,
    ];
    DataPoint {
        indexes: [tenant.to_owned()],
        blobs: blobs.map(str::to_owned).into(),
        doubles: doubles.map(|number| number as f64).into(),
    }
}
