//! The tokens that a turn and a session may spend (interface §6, Budget).

use serde_json::json;

use crate::contract::{ErrorCode, Fault};
use crate::reasoner::running_turn::RunningTurn;

/// Refuses a call that would begin at or over the budget. `under_way` are tokens that are not counted yet:
/// those of the call's own earlier attempts.
pub(in crate::reasoner) fn keep_to_budget(
    running: &RunningTurn<'_>,
    under_way: u64,
) -> Result<(), Fault> {
    let granted = running.turn.progress.turn_tokens;
    let mut budget = running.agent.budget;
    budget.turn_tokens = budget.turn_tokens.into_iter().chain(granted).min();
    let turn = running.turn.progress.usage.map_or(0, |usage| usage.total_tokens);
    let turn = turn.saturating_add(under_way);
    let session = running.session.state.total_tokens.saturating_add(under_way);
    let spent = |tokens: u64, limit: Option<u64>| limit.is_some_and(|limit| tokens >= limit);
    let of_user = running.session.state.lease.filter(|_| budget.of_user().is_some());
    let is_used_up = of_user.is_some_and(|lease| lease.left(session) == 0);
    let what = match (spent(turn, budget.turn_tokens), spent(session, budget.session_tokens)) {
        (false, false) if is_used_up => "user",
        (false, false) => return Ok(()),
        (true, _) => "turn",
        (false, true) => "session",
    };
    let message = format!(
        "The {what} has spent the tokens that its agent context, or the client's ticket, grants. When the operator has raised Budget, or with a ticket of more TurnTokens, the same request goes on."
    );
    Err(Fault::new(ErrorCode::BudgetExceeded, message)
        .with("TurnTokens", turn)
        .with("SessionTokens", session)
        .with(
            "Budget",
            json!({ "TurnTokens": budget.turn_tokens, "SessionTokens": budget.session_tokens }),
        ))
}
