//! The tokens of a user (`UserTokensPerDay`, `UserTokensPerMonth`; interface §13): a session spends out of a lease of its
//! user's object, and takes another one before the call for which nothing is left.

use futures_util::FutureExt;
use serde_json::json;

use crate::contract::{ErrorCode, Fault};
use crate::encoding::timestamp;
use crate::object::ask;
use crate::persistence::Lease;
use crate::ports::{Database, Platform, user_name};
use crate::reasoner::running_turn::{Reasoner, RunningTurn};
use crate::users::{EndedLease, LEASE_LIFE_MS, LeaseQuestion, LeaseReply, Limits};

/// A session stops spending so long before its lease returns, in milliseconds: clocks differ.
const MARGIN_MS: u64 = 10 * 60 * 1000;

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Takes a lease where the user's tokens are bounded and nothing is left. The next write of the session's row
    /// keeps it.
    ///
    /// # Errors
    /// `budget_exceeded` where the user has none left, `internal` where the user's object gives no reply.
    pub(in crate::reasoner) async fn take_lease(
        &self,
        running: &mut RunningTurn<'_>,
    ) -> Result<(), Fault> {
        let platform = self.platform.as_ref();
        let (Some(tenant), Some(user)) = (platform.tenant(), platform.user()) else {
            return Ok(());
        };
        let Some((per_day, per_month, lease)) = running.agent.budget.of_user() else {
            return Ok(());
        };
        let state = &running.session.state;
        let is_good = |known: &Lease| {
            let until = known.granted_at.saturating_add(LEASE_LIFE_MS - MARGIN_MS);
            known.left(state.total_tokens) > 0 && platform.now_ms() < until
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
    ) -> Result<(), Fault> {
        let platform = self.platform.as_ref();
        let state = &running.session.state;
        let ended = state.lease.map(|known| EndedLease::of(&known, state.total_tokens));
        let session_id = running.session.session_id.clone();
        let (per_day, per_month) = (limits.per_day, limits.per_month);
        let question = LeaseQuestion { session_id, ended, limits };
        let asked = ask(platform, object, &question).await;
        match asked.map_err(|_| no_lease())? {
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

fn no_lease() -> Fault {
    Fault::internal(
        "The user's tokens could not be counted, so the model was not called. Send the same request again.",
    )
}
