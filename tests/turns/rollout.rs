//! `Rollout` of a conversation context (interface §6): which sessions begin under another one, and what they may name.

use bed::*;
use serde_json::{Value, json};

use super::forks::Forking;

/// The catalog with a second context, `next`, that gets a share of `default`.
fn share(bed: &Bed, percent: f64) {
    bed.configure(|catalog| {
        catalog["AgentContexts"]["later"] =
            json!({ "ApiKeySecret": "OPENAI_API_KEY", "Model": "m2" });
        let mut next = catalog["ConversationContexts"]["default"].clone();
        next["AgentContextId"] = json!("later");
        next["BootPrompt"] = json!("The next prompt.");
        catalog["ConversationContexts"]["next"] = next;
        catalog["ConversationContexts"]["default"]["Rollout"] =
            json!({ "To": { "next": percent } });
    });
}

/// A session's contexts: agent, conversation, asked for.
fn contexts(bed: &Bed, session: &str) -> [Value; 3] {
    let shown = bed.look(session, "");
    let export = bed.asked("GET", &format!("/sessions/{session}/export"), "").body;
    let names = ["AgentContextId", "ConversationContextId", "AskedContextId"];
    let of = |shown: &Value| names.map(|name| shown[name].clone());
    assert_eq!(of(&shown), of(&export["Result"]));
    of(&shown)
}

fn plain() -> [Value; 3] {
    [json!("default"), json!("default"), Value::Null]
}

fn led() -> [Value; 3] {
    [json!("later"), json!("next"), json!("default")]
}

#[test]
fn a_session_stays_where_its_first_turn_began_whatever_becomes_of_the_shares() {
    let bed = Bed::new();
    share(&bed, 100.0);
    bed.say("a", "t1", "One").final_text();
    assert_eq!(contexts(&bed, "a"), led());
    let body = bed.latest_request();
    assert_eq!(body["model"], "m2");
    assert!(body["input"].to_string().contains("The next prompt."), "{body}");

    share(&bed, 0.0);
    bed.say("a", "t2", "Two").final_text();
    bed.say("b", "t1", "One").final_text();
    assert_eq!((contexts(&bed, "a"), contexts(&bed, "b")), (led(), plain()));
    share(&bed, 100.0);
    bed.say("b", "t2", "Two").final_text();
    assert_eq!(contexts(&bed, "b"), plain());
    bed.assert_chain_held();
}

#[test]
fn later_turns_name_the_context_asked_for_or_the_bound_one_and_no_other() {
    let bed = Bed::new();
    share(&bed, 100.0);
    bed.say("a", "t1", "One").final_text();
    let mut turns = 1;
    for (member, known, unknown) in [
        ("ConversationContextId", ["default", "next"], "replay"),
        ("AgentContextId", ["default", "later"], "replay"),
    ] {
        for (id, status) in known.map(|id| (id, 200)).into_iter().chain([(unknown, 400)]) {
            turns += 1;
            let request = json!({ "SessionId": "a", member: id });
            let heard = bed.post(&with(turn(&format!("t{turns}"), "More"), request));
            assert_eq!(heard.status, status, "{member} {id}: {}", heard.text);
        }
    }
    assert_eq!(contexts(&bed, "a"), led());
    // Whoever names the context gets it; whoever chooses an agent context has chosen.
    for (session, members, bound) in [
        (
            "b",
            json!({ "ConversationContextId": "next" }),
            [json!("later"), json!("next"), Value::Null],
        ),
        ("c", json!({ "AgentContextId": "default" }), plain()),
        (
            "d",
            json!({ "AgentContextId": "replay" }),
            [json!("replay"), json!("default"), Value::Null],
        ),
        ("e", json!({ "ConversationContextId": "default" }), led()),
    ] {
        bed.post(&with(with(turn("t1", "One"), json!({ "SessionId": session })), members))
            .final_text();
        assert_eq!(contexts(&bed, session), bound, "{session}");
    }
}

#[test]
fn the_first_request_binds_once_sent_twice_or_cut_at_each_step_while_the_shares_change() {
    for number in 1.. {
        let mut ends = 0;
        for crash in [Crash::AfterStep(number), Crash::BeforeWrite(number)] {
            let bed = Bed::with_crash(Some(crash));
            share(&bed, 100.0);
            if bed.try_post(&turn("t1", "One")).is_some() && bed.alive() {
                continue;
            }
            ends += 1;
            let was_stored =
                !bed.disk.read("SELECT 1 FROM sqlite_master WHERE name = 'turns'").is_empty()
                    && !bed.disk.read("SELECT 1 FROM turns").is_empty();
            share(&bed, 0.0);
            bed.restart();
            bed.post(&turn("t1", "One")).final_text();
            assert_eq!(contexts(&bed, "s"), if was_stored { led() } else { plain() }, "{crash:?}");
            bed.post(&turn("t2", "Two")).final_text();
            bed.assert_chain_held();
        }
        if ends == 0 {
            assert!(number > 2);
            break;
        }
    }
    let bed = Bed::new();
    share(&bed, 100.0);
    let first = bed.send(&turn("t1", "One"));
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is asked");
    share(&bed, 0.0);
    let second = bed.send(&turn("t1", "One"));
    let heard = [&first, &second].map(|sent| bed.wait(sent).unwrap());
    assert_eq!(heard[0].result(), heard[1].result());
    assert_eq!((bed.world.model.requests(), contexts(&bed, "s")), (1, led()));
}

#[test]
fn a_fork_is_not_drawn_but_has_what_its_parent_asked_for_or_what_it_names() {
    let bed = Bed::new();
    share(&bed, 0.0);
    bed.say("p", "t1", "One").final_text();
    share(&bed, 100.0);
    bed.fork(json!({})).result();
    assert_eq!(contexts(&bed, "f"), plain());
    bed.fork(json!({ "SessionId": "g", "ConversationContextId": "default" })).result();
    assert_eq!(contexts(&bed, "g"), plain());
    bed.fork(json!({ "SessionId": "h", "ConversationContextId": "next" })).result();
    assert_eq!(contexts(&bed, "h"), [json!("later"), json!("next"), Value::Null]);

    bed.say("q", "t1", "One").final_text();
    let fork = |id: &str, context: Value| {
        let body = json!({ "SessionId": id, "ConversationContextId": context }).to_string();
        bed.asked("POST", "/sessions/q/fork", &body).result();
        bed.say(id, "t2", "Two").final_text();
        contexts(&bed, id)
    };
    assert_eq!(fork("q1", Value::Null), led());
    assert_eq!(fork("q2", json!("default")), plain());
    assert_eq!(fork("q3", json!("next")), [json!("later"), json!("next"), Value::Null]);
    bed.assert_chain_held();
}

#[test]
fn the_tools_of_a_server_are_those_of_the_context_that_the_session_begins_under() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["McpServers"] = json!({ "docs": { "Url": "https://docs.example/mcp" } });
        let mut next = catalog["ConversationContexts"]["default"].clone();
        next["Tools"] = json!(["docs/*"]);
        catalog["ConversationContexts"]["next"] = next;
        catalog["ConversationContexts"]["default"]["Rollout"] = json!({ "To": { "next": 100 } });
    });
    bed.say("a", "t1", "One").final_text();
    let body = bed.latest_request();
    assert!(super::names(&body).iter().any(|name| name.starts_with("docs__")), "{body}");
}
