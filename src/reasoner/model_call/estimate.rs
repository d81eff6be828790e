//! What a model call is taken to have cost that the caller's side has ended after its request went out (interface §2).
//! Services name what a call has cost in its last event alone, and have it paid whoever ended it.

use super::conversation_input::Input;
use super::transcript::Transcript;
use crate::contract::{Result, Usage};
use crate::persistence::{Session, SessionStore};
use crate::ports::Database;

/// What a token is estimated at, in bytes.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;

/// The tokens of so many bytes.
pub(crate) fn tokens(bytes: usize) -> u64 {
    bytes as u64 / BYTES_PER_TOKEN
}

/// Gives a call that went out and has not ended by itself an estimate of what it has cost. What the service has
/// reported of it stays. `session` is as it was when the call was made.
pub(crate) fn estimate_cost<D: Database>(
    store: &SessionStore<D>,
    session: &Session,
    transcript: &mut Transcript,
) -> Result<()> {
    if !std::mem::take(&mut transcript.in_flight) {
        return Ok(());
    }
    let reported = transcript.usage.unwrap_or_default();
    transcript.prompt_is_estimated = reported.prompt_tokens == 0;
    let prompt_tokens = match transcript.prompt_is_estimated {
        true => prompt_tokens(store, session, transcript)?,
        false => reported.prompt_tokens,
    };
    let completion_tokens = reported.completion_tokens.max(tokens(transcript.heard_bytes));
    let total_tokens = prompt_tokens.saturating_add(completion_tokens).max(reported.total_tokens);
    transcript.usage =
        Some(Usage { prompt_tokens, completion_tokens, total_tokens, estimated: true, ..reported });
    Ok(())
}

/// What was reported last for the conversation, and what was added since: the output of that call, and all behind it.
/// Without a report all of it was added, with what else the request holds.
fn prompt_tokens<D: Database>(
    store: &SessionStore<D>,
    session: &Session,
    transcript: &Transcript,
) -> Result<u64> {
    if transcript.summary {
        return Ok(tokens(transcript.body_bytes));
    }
    let (state, window) = (&session.state, &session.state.window);
    let since_report = Input::since(store, window, session.acknowledged)?;
    if let Some(reported) = state.context_tokens.filter(|_| !state.window_moved) {
        return Ok(reported.saturating_add(tokens(since_report.weight(store)?)));
    }
    let whole = Input::whole(store, window)?;
    let sent = match transcript.previous_response_id {
        Some(_) => since_report.stored_bytes_after(session.acknowledged),
        None => whole.stored_bytes(),
    };
    let around = transcript.body_bytes.saturating_sub(sent);
    Ok(tokens(whole.weight(store)?.saturating_add(around)))
}
