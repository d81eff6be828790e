//! Webhooks of sessions of users (interface §13, §15): the message names the user.

use std::collections::BTreeSet;

use bed::*;
use serde_json::{Value, json};

use super::people::{Asking, people};

#[test]
fn a_message_names_its_user_and_two_users_with_equal_ids_have_two_messages() {
    let bed = people();
    bed.deploy("HOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    bed.configure(|catalog| {
        let webhook =
            json!({ "Url": "https://hooks.example/in", "SigningSecrets": ["HOOK_SECRET"] });
        catalog["Webhooks"] = json!({ "done": webhook });
        catalog["ConversationContexts"]["default"]["Webhooks"] = json!(["done"]);
    });
    bed.post(&with(turn("t1", "Hello"), json!({ "SessionId": "s" }))).final_text();
    for user in ["ann", "b/ob"] {
        bed.say(user, "s", "t1", "Hello").final_text();
    }
    bed.settle();
    let received = bed.world.webhooks.received();
    let users: Vec<Value> =
        received.iter().map(|message| message.json()["data"]["User"].clone()).collect();
    assert_eq!(users, [Value::Null, json!("ann"), json!("b/ob")]);
    let ids: BTreeSet<&str> = received.iter().map(WebhookMessage::id).collect();
    assert_eq!(ids.len(), 3);
}
