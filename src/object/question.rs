//! What one object asks another. Each question has its class of object, which answers it, and its kind of reply.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ports::{HttpFault, Machine, ObjectQuestion, with_timeout};

/// A question, which is the body that asks it, as JSON. Both objects are of one deployment, two versions of which may meet.
pub trait Question: Serialize + DeserializeOwned {
    /// Its name, and with it the class of the object that is asked.
    const ASKED: ObjectQuestion;
    /// What the object replies, as JSON.
    type Reply: Serialize + DeserializeOwned;
}

/// Declares questions, and objects that stand in questions and replies. A question says as what it is asked, and what its
/// reply is. A member that is written `name?: Type` is left out where it says nothing.
macro_rules! question {
    ($(
        $(#[$about:meta])*
        $vis:vis struct $Name:ident $(asks $asked:ident => $Reply:ty)? { $($members:tt)* }
    )+) => {
        $crate::contract::sparse_object! {
            $(
                #[derive(Debug, serde::Serialize, serde::Deserialize)]
                #[serde(rename_all = "PascalCase")]
                $(#[$about])* $vis struct $Name { $($members)* }
            )+
        }
        $($(impl $crate::object::Question for $Name {
            const ASKED: $crate::ports::ObjectQuestion = $crate::ports::ObjectQuestion::$asked;
            type Reply = $Reply;
        })?)+
    };
}

pub(crate) use question;

/// Asks the object of that name.
///
/// # Errors
/// The object does not answer, or with something else than a reply.
pub async fn ask<Q: Question>(
    machine: &impl Machine,
    object: &str,
    question: &Q,
) -> Result<Q::Reply, HttpFault> {
    let unwritable = |_| HttpFault::Lost("a question cannot be written".to_owned());
    let body = serde_json::to_string(question).map_err(unwritable)?;
    let reply = machine.ask_object(object, Q::ASKED, body).await?;
    serde_json::from_str(&reply).map_err(|_| HttpFault::Lost("the reply is unreadable".to_owned()))
}

/// The same, and waits for so many milliseconds at most.
///
/// # Errors
/// Those of [`ask`], and no reply in time.
pub async fn ask_in_time<Q: Question>(
    machine: &impl Machine,
    object: &str,
    question: &Q,
    longest_ms: u64,
) -> Result<Q::Reply, HttpFault> {
    let reply = with_timeout(machine, longest_ms, ask(machine, object, question)).await;
    reply.unwrap_or_else(|| Err(HttpFault::Lost("there was no reply in time".to_owned())))
}

/// Asks once more where an object was moved or began again while it was asked. For questions that may come twice, and
/// that nobody else repeats.
///
/// # Errors
/// Those of the last time.
pub async fn asked_again<T>(ask: impl AsyncFn() -> Result<T, HttpFault>) -> Result<T, HttpFault> {
    match ask().await {
        Err(HttpFault::Passing(_)) => ask().await,
        answered => answered,
    }
}
