//! `Instead` of a conversation context (interface §6): its sessions go on under another one from their next user turn on,
//! and a turn that has begun ends under its own.
//!
//! The model service looks at every call: one prompt, that of the agent context's model, and of one turn always the same.

mod moments;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bed::*;
use serde_json::{Value, json};

use super::forks::Forking;

/// What stands in the catalog of the context `old`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Old {
    Serves,
    /// It has an `Instead` beside its other members.
    Leads,
    /// It has an `Instead` alone.
    IsGone,
}

/// The catalog with the contexts `old` and `new`, each with a prompt and a model of its own.
pub(crate) fn put(bed: &Bed, continuation: &str, old: Old) {
    bed.configure(|catalog| {
        for (id, model) in [("old", "m-old"), ("new", "m-new")] {
            let mut agent = catalog["AgentContexts"]["default"].clone();
            agent["Model"] = json!(model);
            agent["Continuation"] = json!(continuation);
            catalog["AgentContexts"][id] = agent;
            let mut conversation = catalog["ConversationContexts"]["default"].clone();
            conversation["AgentContextId"] = json!(id);
            conversation["BootPrompt"] = json!(format!("The {id} prompt."));
            catalog["ConversationContexts"][id] = conversation;
        }
        catalog["ServerTools"][1]["Approval"] = json!("Always");
        let entry = &mut catalog["ConversationContexts"]["old"];
        match old {
            Old::Serves => {}
            Old::Leads => entry["Instead"] = json!("new"),
            Old::IsGone => *entry = json!({ "Instead": "new" }),
        }
    });
}

/// The models by the instruction of the turn that called them, as the service has seen them.
#[derive(Clone, Default)]
pub(crate) struct Seen(Rc<RefCell<BTreeMap<String, String>>>);

impl Seen {
    /// Has the model service look at every call from here on.
    pub(crate) fn by(bed: &Bed) -> Self {
        let seen = Self::default();
        let calls = Rc::clone(&seen.0);
        bed.world.model.rules.refuse_by(move |body, conversation| {
            let model = body["model"].as_str().unwrap().to_owned();
            let systems: Vec<String> = conversation
                .iter()
                .filter(|item| item["role"] == "system")
                .map(|item| item["content"].to_string())
                .collect();
            let id = model.strip_prefix("m-").unwrap();
            assert_eq!(systems.len(), 1, "{systems:?}");
            assert!(systems[0].contains(&format!("The {id} prompt.")), "{model}: {systems:?}");
            let said = Conversation(conversation.to_vec()).user_texts();
            let newest = said.iter().rev().find_map(|text| text.split("[INSTRUCTION]\n").nth(1));
            let newest = newest.unwrap().split_whitespace().next().unwrap().to_owned();
            let known =
                calls.borrow_mut().entry(newest.clone()).or_insert_with(|| model.clone()).clone();
            assert_eq!(known, model, "{newest} is said under two contexts");
            None
        });
        seen
    }

    pub(crate) fn under(&self, words: &str) -> Option<String> {
        self.0.borrow().get(words).cloned()
    }
}

pub(crate) fn said(id: &str, words: &str) -> Value {
    with(turn(id, words), json!({ "ConversationContextId": "old" }))
}

pub(crate) fn trace(bed: &Bed, id: &str) -> Value {
    bed.asked("GET", &format!("/sessions/s/turns/{id}/trace"), "").result().clone()
}

/// The session's contexts: agent, conversation, asked for.
pub(crate) fn contexts(bed: &Bed) -> [Value; 3] {
    let shown = bed.look("s", "");
    ["AgentContextId", "ConversationContextId", "AskedContextId"].map(|name| shown[name].clone())
}

pub(crate) fn old() -> [Value; 3] {
    [json!("old"), json!("old"), Value::Null]
}

pub(crate) fn new() -> [Value; 3] {
    [json!("new"), json!("new"), json!("old")]
}

#[test]
fn a_session_goes_on_under_the_other_context_with_its_next_user_turn_and_keeps_all_else() {
    for continuation in ["stored", "replay"] {
        let bed = Bed::new();
        put(&bed, continuation, Old::Serves);
        let seen = Seen::by(&bed);
        let tools = json!([{ "type": "function", "name": "mine", "parameters": { "type": "object", "properties": {} } }]);
        let members = json!({ "ToolsJson": tools.to_string(), "SolutionContextText": "Solved." });
        bed.post(&with(said("t1", "Before [plan: mode:ddr]"), members)).final_text();
        put(&bed, continuation, Old::Leads);
        assert_eq!(contexts(&bed), old(), "reading changes nothing");
        bed.post(&turn("t2", "After")).final_text();
        assert_eq!(contexts(&bed), new());
        assert_eq!(
            (seen.under("Before").unwrap(), seen.under("After").unwrap()),
            ("m-old".into(), "m-new".into())
        );
        let body = bed.world.model.bodies().pop().unwrap();
        assert!(body["previous_response_id"].is_null());
        let heard = bed.world.model.conversation();
        assert_eq!((heard.heard("Before"), heard.heard("Solved.")), (1, 1));
        assert!(
            super::names(&body).contains(&"mine") && super::names(&body).contains(&"file_record"),
            "{body}"
        );
        assert_eq!(trace(&bed, "t2")["ContextChanged"], json!({ "From": "old", "To": "new" }));
        assert!(trace(&bed, "t1").get("ContextChanged").is_none());

        // From here on it is a session like any other.
        bed.post(&turn("t3", "Later")).final_text();
        assert!(trace(&bed, "t3").get("ContextChanged").is_none());
        let body = bed.world.model.bodies().pop().unwrap();
        assert_eq!(body["previous_response_id"].is_string(), continuation == "stored");
        for (id, name, status) in [("t4", "old", 200), ("t5", "new", 200), ("t6", "default", 400)] {
            for member in ["ConversationContextId", "AgentContextId"] {
                let heard = bed
                    .post(&with(turn(&format!("{id}-{member}"), "More"), json!({ member: name })));
                assert_eq!(heard.status, status, "{member} {name}: {}", heard.text);
            }
        }
        bed.assert_chain_held();
    }
}

#[test]
fn a_new_session_and_a_share_of_one_begin_under_the_context_that_stands_instead() {
    let bed = Bed::new();
    put(&bed, "stored", Old::IsGone);
    let seen = Seen::by(&bed);
    bed.post(&said("t1", "First")).final_text();
    assert_eq!((contexts(&bed), seen.under("First").unwrap()), (new(), "m-new".to_owned()));
    assert!(trace(&bed, "t1").get("ContextChanged").is_none(), "nothing has changed");
    bed.post(&said("t2", "Second")).final_text();
    // It is asked for by whoever forks, too.
    let parent =
        with(turn("t1", "Parent"), json!({ "SessionId": "p", "ConversationContextId": "new" }));
    bed.post(&parent).final_text();
    bed.fork(json!({ "ConversationContextId": "old" })).result();
    let shown = bed.look("f", "");
    assert_eq!(
        (&shown["ConversationContextId"], &shown["AskedContextId"]),
        (&json!("new"), &json!("old"))
    );
    bed.say("f", "t2", "Forked").final_text();
    bed.assert_chain_held();
}

#[test]
fn a_fork_of_an_earlier_turn_goes_on_under_the_context_of_that_turn() {
    for continuation in ["stored", "replay"] {
        let bed = Bed::new();
        put(&bed, continuation, Old::Serves);
        let _seen = Seen::by(&bed);
        let say = |id: &str, words: &str, members: Value| {
            bed.post(&with(with(turn(id, words), json!({ "SessionId": "p" })), members))
        };
        let old = || json!({ "ConversationContextId": "old" });
        say("t1", "One", old()).final_text();
        bed.world.model.script([http_error(401, json!({}), &[])]);
        say("t2", "Two", json!({})).failure();
        put(&bed, continuation, Old::Leads);
        say("t3", "Three", json!({})).final_text();
        say("t2", "Two", json!({})).final_text();
        put(&bed, continuation, Old::Serves);
        let fork = |id: &str, after: &str, members: Value| {
            bed.fork(with(json!({ "SessionId": id, "AfterTurnId": after }), members)).result();
            let shown = bed.look(id, "");
            let bound = shown["ConversationContextId"].as_str().unwrap().to_owned();
            (bound, shown["AskedContextId"].as_str().map(str::to_owned))
        };
        let both = |bound: &str, asked: Option<&str>| (bound.to_owned(), asked.map(str::to_owned));
        assert_eq!(fork("f1", "t1", json!({})), both("old", None));
        assert_eq!(fork("f2", "t2", json!({})), both("old", None));
        assert_eq!(fork("f3", "t3", json!({})), both("new", Some("old")));
        assert_eq!(fork("f4", "t3", old()), both("old", None));
        assert_eq!(fork("f5", "t1", json!({ "ConversationContextId": "new" })), both("new", None));
        for (number, fork) in ["f1", "f2", "f3", "f4", "f5"].iter().enumerate() {
            bed.say(fork, "t9", &format!("Next-{number}")).final_text();
            bed.say(fork, "t10", &format!("Last-{number}")).final_text();
        }
        bed.assert_chain_held();
    }
}

#[test]
fn the_point_of_a_repeated_turn_that_lost_its_instance_names_the_contexts_that_it_ran_under() {
    let bed = Bed::new();
    bed.world.metered.replace(Some(Vec::new()));
    put(&bed, "stored", Old::Serves);
    bed.world.model.script([http_error(401, json!({}), &[])]);
    bed.post(&said("t1", "Before")).failure();
    put(&bed, "stored", Old::Leads);
    bed.post(&turn("t2", "After")).final_text();
    let asked = bed.world.model.requests();
    bed.world.model.script([Reply::Silence, Reply::Silence]);
    let _lost = bed.send(&said("t1", "Before"));
    for calls in [1, 2] {
        bed.run_until(|bed| bed.world.model.requests() == asked + calls, "the model is asked");
        bed.restart();
        bed.alarm();
    }
    bed.settle();
    assert_eq!(bed.status("t1"), "failed");
    let points = bed.world.metered.borrow();
    let point = points.iter().flatten().last().unwrap();
    assert_eq!(point.blobs[2..5], ["m-old", "old", "old"]);
}
