//! Which requests are a fork, which repeat one, and which are refused.

use super::*;

#[test]
fn the_same_request_is_answered_again_and_any_other_names_a_session_that_exists() {
    let bed = Bed::new();
    bed.say("p", "t1", "One").final_text();
    bed.say("q", "t1", "One").final_text();
    bed.say("p", "t2", "Two").final_text();
    let made = bed.fork(json!({}));
    bed.say("p", "t3", "Three").final_text();
    let same = bed.fork(json!({ "AfterTurnId": null }));
    assert_eq!((same.status, same.replayed), (201, true));
    assert_eq!(same.result(), made.result());
    for members in [json!({ "AfterTurnId": "t2" }), json!({ "ConversationContextId": "default" })] {
        assert_eq!(bed.fork(members).failure(), (409, "session_exists"));
    }
    let other = bed.asked("POST", "/sessions/q/fork", r#"{"SessionId":"f"}"#);
    assert_eq!(other.failure(), (409, "session_exists"));
    for own in ["p", "q"] {
        assert_eq!(bed.fork(json!({ "SessionId": own })).failure(), (409, "session_exists"));
    }
    // It stays the fork when the parent is gone.
    bed.asked("DELETE", "/sessions/p", "").result();
    let same = bed.fork(json!({}));
    assert_eq!((same.replayed, same.result()), (true, made.result()));
    assert_eq!(bed.fork(json!({ "SessionId": "g" })).failure(), (404, "session_not_found"));
    assert_eq!(bed.fork(json!({ "SessionId": "p" })).failure(), (404, "session_not_found"));
    assert_eq!(tables(&bed, "g"), Vec::<String>::new());
}

#[test]
fn what_cannot_be_forked_is_refused_and_nothing_is_written() {
    let bed = Bed::new();
    assert_eq!(bed.fork(json!({})).failure(), (404, "session_not_found"));
    let asked = bed.say("p", "t1", "One [plan: client]").calls();
    let waits = bed.fork(json!({}));
    assert_eq!(waits.failure(), (409, "turn_not_ended"));
    assert_eq!(waits.details()["TurnId"], "t1");
    assert_eq!(bed.fork(json!({ "AfterTurnId": "t1" })).failure(), (409, "turn_not_ended"));
    bed.post(&with(results("t1", &[(&asked[0], json!(1))]), json!({ "SessionId": "p" })))
        .final_text();
    assert_eq!(bed.fork(json!({ "AfterTurnId": "t9" })).failure(), (404, "turn_not_found"));
    let unknown = bed.fork(json!({ "ConversationContextId": "nope" }));
    assert_eq!(unknown.failure(), (404, "context_not_found"));
    for (members, code) in [
        (json!({ "SessionId": "a/b" }), "invalid_field"),
        (json!({ "AfterTurn": "t1" }), "unknown_field"),
        (json!({ "Mode": "plain" }), "forbidden_field"),
        (json!({ "Instruction": "More" }), "forbidden_field"),
    ] {
        assert_eq!(bed.fork(members).failure(), (400, code));
    }
    let nameless = bed.asked("POST", "/sessions/p/fork", "{}");
    assert_eq!(nameless.failure(), (400, "missing_field"));
    assert_eq!(bed.world.session("local/f").disk.writes.get(), 0);

    // A turn that waits does not keep the ones before it.
    bed.say("p", "t2", "Two [plan: client]").calls();
    assert_eq!(bed.fork(json!({})).result()["AfterTurnId"], "t1");
}
