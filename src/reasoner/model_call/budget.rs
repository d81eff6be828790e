//! The tokens that may be spent: those of a turn and of a session (interface §6, Budget), and those of a user
//! (`UserTokensPerDay`, `UserTokensPerMonth`; interface §13), out of which a session spends by a lease of its user's
//! object. It takes another lease before the call for which nothing is left.

use futures_util::FutureExt;
use serde_json::json;

use crate::contract::{ErrorCode, Fault, Result};
use crate::encoding::timestamp;
use crate::object::{ask, asked_again};
use crate::persistence::Lease;
use crate::ports::{Database, HttpFault, OTHER_VERSION_MS, Platform, user_name};
use crate::reasoner::running_turn::{Reasoner, RunningTurn};
use crate::users::{EndedLease, LEASE_LIFE_MS, LeaseQuestion, LeaseReply, Limits, is_same_day};

const TURN_SPENT: &str = "The turn has spent the tokens that its agent context, or the client's ticket, grants. When the operator has raised Budget, or with a ticket of more TurnTokens, the same request goes on.";
const SESSION_SPENT: &str = "The session has spent the tokens that its agent context grants. When the operator has raised Budget, the same request goes on; another session has tokens of its own.";

/// A session stops spending so long before its lease returns, in milliseconds: clocks differ.
const MARGIN_MS: u64 = 10 * 60 * 1000;

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Takes a lease where the user's tokens are bounded and nothing is left. The next write of the session's row
    /// keeps it.
    ///
    /// # Errors
    /// `budget_exceeded` where the user has none left. Where the user's object gives no reply, `overloaded` while a deploy takes
    /// hold, else `internal`.
    pub(crate) async fn take_lease(&self, running: &mut RunningTurn<'_>) -> Result<()> {
        let (Some(tenant), Some(user)) = (self.platform.tenant(), self.platform.user()) else {
            return Ok(());
        };
        let Some((per_day, per_month, lease)) = running.agent.budget.of_user() else {
            let state = &mut running.session.state;
            if let Some(lease) = &mut state.lease {
                lease.pass(state.total_tokens);
            }
            return Ok(());
        };
        let state = &running.session.state;
        let now = self.platform.now_ms();
        let is_good = |known: &Lease| {
            let until = known.granted_at.saturating_add(LEASE_LIFE_MS - MARGIN_MS);
            // What is spent out of it counts for the day on which it was granted.
            let is_of_today = is_same_day(known.granted_at, now);
            known.left(state.total_tokens) > 0 && now < until && is_of_today
        };
        if state.lease.as_ref().is_some_and(is_good) {
            return Ok(());
        }
        let limits = Limits { per_day, per_month, lease };
        let object = user_name(tenant, user);
        self.ask_for_lease(running, &object, limits).boxed_local().await
    }

    async fn ask_for_lease(
        &self,
        running: &mut RunningTurn<'_>,
        object: &str,
        limits: Limits,
    ) -> Result<()> {
        let state = &running.session.state;
        let ended = state.lease.map(|known| EndedLease::of(&known, state.total_tokens));
        let session_id = running.session.session_id.clone();
        let (per_day, per_month) = (limits.per_day, limits.per_month);
        let question = LeaseQuestion { session_id, ended, limits };
        // A session that was given a lease and does not know gets the same again.
        let asked =
            asked_again(async || ask(self.platform.as_ref(), object, &question).await).await;
        match asked.map_err(|fault| no_lease(&fault))? {
            LeaseReply::Granted { id, tokens, granted_at } => {
                let state = &running.session.state;
                let total = state.total_tokens;
                // What was spent since the last lease ended is spent out of this one.
                let from =
                    state.lease.map_or(total, |known| known.from.saturating_add(known.used(total)));
                let lease = Lease { id, tokens, from, granted_at, used: None };
                running.session.state.lease = Some(lease);
                self.run.leased.set(Some(lease));
                Ok(())
            }
            LeaseReply::Exhausted { budget, resets_at } => {
                let message = "The user has spent the tokens that the agent context grants. After ResetsAt, or when the operator has raised Budget, the same request goes on.";
                let budget = json!({
                    "UserTokensPerDay": per_day, "UserTokensPerMonth": per_month, "Exceeded": budget,
                });
                Err(Fault::new(ErrorCode::BudgetExceeded, message)
                    .with("Budget", budget)
                    .with("ResetsAt", timestamp(resets_at)))
            }
        }
    }
}

fn no_lease(fault: &HttpFault) -> Fault {
    let message = "The user's tokens could not be counted, so the model was not called. Send the same request again.";
    match fault {
        HttpFault::OtherVersion | HttpFault::Passing(_) => {
            Fault::new(ErrorCode::Overloaded, message).with("RetryAfterMs", OTHER_VERSION_MS)
        }
        HttpFault::Lost(_) => Fault::internal(message),
    }
}

/// Refuses a call that would begin at or over the budget of its turn or its session. `under_way` are tokens that are not
/// counted yet: those of the call's own earlier attempts. What its user may spend the lease says that was taken for the
/// call, whose attempts may go beyond it.
pub(crate) fn keep_to_budget(running: &RunningTurn<'_>, under_way: u64) -> Result<()> {
    let granted = running.turn.progress.turn_tokens;
    let mut budget = running.agent.budget;
    budget.turn_tokens = budget.turn_tokens.into_iter().chain(granted).min();
    let turn = running.turn.progress.usage.map_or(0, |usage| usage.total_tokens);
    let turn = turn.saturating_add(under_way);
    let session = running.session.state.total_tokens.saturating_add(under_way);
    let spent = |tokens: u64, limit: Option<u64>| limit.is_some_and(|limit| tokens >= limit);
    let message = match (spent(turn, budget.turn_tokens), spent(session, budget.session_tokens)) {
        (false, false) => return Ok(()),
        (true, _) => TURN_SPENT,
        // No ticket grants a session tokens.
        (false, true) => SESSION_SPENT,
    };
    Err(Fault::new(ErrorCode::BudgetExceeded, message)
        .with("TurnTokens", turn)
        .with("SessionTokens", session)
        .with(
            "Budget",
            json!({ "TurnTokens": budget.turn_tokens, "SessionTokens": budget.session_tokens }),
        ))
}
