//! How a user's object asks the sessions of the user.

use futures_util::future::join_all;

use crate::contract::{Fault, Result, SessionId};
use crate::entry::other_version::unanswered;
use crate::object::{Question, ask, asked_again};
use crate::ports::{Platform, object_name};

/// Sessions that are asked at the same time.
const AT_ONCE: usize = 10;

/// Asks a session of the user whose object this is, and once more where it begins again: nothing is done twice.
///
/// # Errors
/// `internal` when the session does not answer, `overloaded` when it is of another version.
pub(super) async fn ask_session<P: Platform, Q: Question>(
    platform: &P,
    id: &SessionId,
    question: &Q,
) -> Result<Q::Reply> {
    let (Some(tenant), Some(user)) = (platform.tenant(), platform.user()) else {
        return Err(Fault::internal("The object of the user does not know whose it is."));
    };
    let name = object_name(tenant, Some(user), id.as_str());
    let silent =
        "A session of the user did not answer. Send the same request again: nothing is done twice.";
    let reply = asked_again(async || ask(platform, &name, question).await).await;
    reply.map_err(|fault| unanswered(&fault, Fault::internal(silent)))
}

/// Asks several sessions, some at the same time, and returns what each gave, in their order.
pub(super) async fn ask_each<T, A>(sessions: &[T], ask: impl AsyncFn(&T) -> A) -> Vec<A> {
    let mut given = Vec::with_capacity(sessions.len());
    for batch in sessions.chunks(AT_ONCE) {
        given.extend(join_all(batch.iter().map(|session| ask(session))).await);
    }
    given
}
