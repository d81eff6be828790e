//! What becomes of a steer that no model call of its turn takes, and of one that the model service refuses.

use serde_json::json;

use super::*;

/// A turn whose first model call is under way.
fn under_way(bed: &Bed, words: &str, reply: Reply) -> Pending {
    let calls = bed.world.model.requests() + 1;
    bed.world.model.script([reply]);
    let pending = bed.send(&turn("t1", words));
    bed.run_until(|bed| bed.world.model.requests() == calls, "the model is called");
    pending
}

#[test]
fn after_a_cancel_the_next_turn_s_model_sees_what_was_pending() {
    for pauses in [false, true] {
        let bed = Bed::new();
        let pending = match pauses {
            true => {
                bed.post(&turn("t1", "Words [plan: client]")).calls();
                None
            }
            false => Some(under_way(&bed, "Words", Reply::Silence)),
        };
        assert_eq!(bed.steer("t1", &steer("s1", "Rather this.")).status, 202);
        bed.try_cancel("t1").unwrap();
        if let Some(pending) = pending {
            assert_eq!(bed.wait(&pending).unwrap().failure(), (409, "turn_aborted"));
        }
        assert_eq!(states(&bed, "t1"), [state("s1", "kept")]);
        assert_eq!(bed.steer("t1", &steer("s2", "More.")).failure(), (409, "turn_ended"));
        bed.post(&turn("t2", "Next")).final_text();
        assert_each_once(&bed, &["Rather this.", "Next"]);
        assert_eq!(bed.world.model.conversation().heard("More."), 0);
        assert_eq!(states(&bed, "t1"), [state("s1", "kept")]);
    }
}

#[test]
fn a_failed_turn_that_is_repeated_goes_on_with_its_steers() {
    for context in ["default", "replay"] {
        for others in [false, true] {
            let bed = Bed::new();
            bed.world.model.script([say("Half").paced(5).into()]);
            bed.world.model.spoil_after(0, http_error(401, json!({}), &[]));
            let members = json!({ "ConversationContextId": context });
            let request = with(turn("t1", "Words"), members.clone());
            // The failing call is slow enough for a steer.
            bed.world.model.mend();
            let pending = bed.send(&request);
            bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
            bed.world.model.spoil_after(0, http_error(401, json!({}), &[]));
            assert_eq!(bed.steer("t1", &steer("s1", "Rather this.")).status, 202);
            assert_eq!(bed.wait(&pending).unwrap().failure().0, 502);
            bed.world.model.mend();
            assert_eq!(
                bed.steer("t1", &steer("s1", "Rather this.")).result()["State"],
                "delivered"
            );
            if others {
                bed.post(&with(turn("t2", "Next"), members)).final_text();
            }
            bed.post(&request).final_text();
            assert_each_once(&bed, &["Rather this."]);
            assert_eq!(states(&bed, "t1"), [state("s1", "delivered")]);
        }
    }
}

#[test]
fn progress_tells_that_a_repeated_turn_has_taken_the_steer_that_was_kept() {
    let bed = Bed::new();
    let failure = http_error(401, json!({}), &[]);
    let Reply::Http(failure) = failure else { panic!("it is an HTTP error") };
    let pending = under_way(&bed, "Words", Reply::Http(failure.after(1_000)));
    assert_eq!(bed.steer("t1", &steer("s1", "Rather this.")).status, 202);
    assert_eq!(bed.wait(&pending).unwrap().failure().0, 502);
    assert_eq!(states(&bed, "t1"), [state("s1", "kept")]);
    let request = with(turn("t1", "Words"), json!({ "Streaming": true }));
    let repeat = bed.ask("POST", "/execute?Progress=true", &[], &request.to_string());
    let frames = bed.wait(&repeat).unwrap().frames.unwrap();
    let delivered = "data: {\"Kind\":\"steer\",\"SteerId\":\"s1\",\"State\":\"delivered\"}";
    assert_eq!(frames.matches(delivered).count(), 1, "{frames}");
    assert_eq!(states(&bed, "t1"), [state("s1", "delivered")]);
}

#[test]
fn a_refused_turn_that_is_repeated_sends_its_message_before_the_steer_that_was_kept() {
    for (code, failure) in [
        ("invalid_image", (502, "upstream_rejected")),
        ("context_length_exceeded", (413, "context_window_exceeded")),
    ] {
        for context in ["default", "replay"] {
            let bed = Bed::new();
            let refusal = http_error(400, json!({ "code": code, "param": "input" }), &[]);
            let Reply::Http(refusal) = refusal else { panic!("it is an HTTP error") };
            // The refusal is slow enough for a steer.
            bed.world.model.script([Reply::Http(refusal.after(1_000))]);
            let request = with(turn("t1", "Words"), json!({ "ConversationContextId": context }));
            let pending = bed.send(&request);
            bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
            assert_eq!(bed.steer("t1", &steer("s1", "Rather this.")).status, 202);
            assert_eq!(bed.wait(&pending).unwrap().failure(), failure);
            assert_eq!(states(&bed, "t1"), [state("s1", "kept")]);
            bed.post(&request).final_text();
            assert_eq!(states(&bed, "t1"), [state("s1", "delivered")]);
            assert_each_once(&bed, &["Words", "Rather this."]);
            let texts = bed.world.model.conversation().user_texts();
            assert!(texts[0].ends_with("Words") && texts[1].ends_with("Rather this."), "{texts:?}");
        }
    }
}

#[test]
fn a_message_that_stood_in_for_refused_steers_is_not_sent_again_beside_them() {
    let bed = Bed::new();
    let refusal = http_error(400, json!({ "code": "invalid_image", "param": "input" }), &[]);
    let failure = || http_error(401, json!({}), &[]);
    // The steer is refused, and the call with the message in its place fails for another reason.
    let pending = under_way(&bed, "Words", say("Done.").paced(5).into());
    bed.world.model.script([refusal, failure()]);
    assert_eq!(bed.steer("t1", &steer("s1", "Rather this.")).status, 202);
    assert_eq!(bed.wait(&pending).unwrap().failure().0, 502);
    assert_eq!(bed.world.model.requests(), 3);
    // A repeat takes the steer, and fails with another one.
    let pending = under_way(&bed, "Words", say("Done again.").paced(5).into());
    bed.world.model.script([failure()]);
    assert_eq!(bed.steer("t1", &steer("s2", "And this.")).status, 202);
    assert_eq!(bed.wait(&pending).unwrap().failure().0, 502);
    bed.post(&turn("t1", "Words")).final_text();
    assert_eq!(states(&bed, "t1"), [state("s1", "delivered"), state("s2", "delivered")]);
    assert_each_once(&bed, &["Words", "Rather this.", "And this."]);
}

#[test]
fn a_message_that_was_refused_in_the_place_of_steers_is_not_sent_again_beside_itself() {
    let bed = Bed::new();
    let refusal = http_error(400, json!({ "code": "invalid_image", "param": "input" }), &[]);
    let Reply::Http(refusal) = refusal else { panic!("it is an HTTP error") };
    // The model has the message. The steer is refused, and so is whatever stands in for it.
    let pending = under_way(&bed, "Words", say("Done.").paced(5).into());
    bed.world.model.spoil_after(0, Reply::Http(refusal.after(1_000)));
    assert_eq!(bed.steer("t1", &steer("s1", "Rather this.")).status, 202);
    bed.run_until(|bed| bed.world.model.requests() == 2, "the steer is sent");
    assert_eq!(bed.steer("t1", &steer("s2", "And this.")).status, 202);
    assert_eq!(bed.wait(&pending).unwrap().failure().0, 502);
    assert_eq!(states(&bed, "t1"), [state("s1", "refused"), state("s2", "kept")]);
    bed.world.model.mend();
    bed.post(&turn("t1", "Words")).final_text();
    let conversation = bed.world.model.conversation();
    for (words, times) in [("Words", 1), ("Rather this.", 0), ("And this.", 1)] {
        assert_eq!(conversation.heard(words), times, "{words}: {:?}", conversation.said());
    }
}

/// A turn that fails while calls wait for their outputs keeps its steer behind those.
#[test]
fn a_kept_steer_stands_behind_the_outputs_of_the_calls_that_were_open() {
    for repeats in [false, true] {
        let bed = Bed::new();
        bed.world.tools.script([ToolAnswer::Status(500)]);
        let pending =
            under_way(&bed, "Words", says(vec![call("lookup", json!({}))]).paced(5).into());
        assert_eq!(bed.steer("t1", &steer("s1", "Rather this.")).status, 202);
        assert_eq!(bed.wait(&pending).unwrap().failure(), (500, "server_tool_failed"));
        assert_eq!(states(&bed, "t1"), [state("s1", "kept")]);
        bed.restart();
        if repeats {
            bed.post(&turn("t1", "Words")).final_text();
            assert_eq!(states(&bed, "t1"), [state("s1", "delivered")]);
        } else {
            bed.post(&turn("t2", "Next")).final_text();
            assert_eq!(states(&bed, "t1"), [state("s1", "kept")]);
        }
        assert_each_once(&bed, &["Rather this."]);
        let said = said(&bed);
        let output = said.iter().rposition(|said| matches!(said, Said::Output(..))).unwrap();
        assert!(matches!(&said[output + 1], Said::User(text) if text.ends_with("Rather this.")));
    }
}

#[test]
fn the_budget_is_looked_at_before_steers_are_delivered() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Budget"] = json!({ "TurnTokens": 100 });
    });
    let pending = under_way(&bed, "Words", say("Done.").paced(5).into());
    assert_eq!(bed.steer("t1", &steer("s1", "Rather this.")).status, 202);
    assert_eq!(bed.wait(&pending).unwrap().failure(), (403, "budget_exceeded"));
    assert_eq!(states(&bed, "t1"), [state("s1", "kept")]);
    bed.configure(|_| ());
    bed.post(&turn("t1", "Words")).final_text();
    assert_eq!(states(&bed, "t1"), [state("s1", "delivered")]);
    assert_each_once(&bed, &["Rather this.", "Words"]);
}

#[test]
fn what_the_model_service_refuses_of_a_steer_leaves_the_conversation_and_only_that() {
    let refusal = || http_error(400, json!({ "code": "invalid_image", "param": "input" }), &[]);
    // How many calls are refused, the reply to the first call, the steers, and which is refused.
    for context in ["default", "replay"] {
        for first in [say("Done.").paced(5), says(vec![call("lookup", json!({}))]).paced(5)] {
            for (steers, refused) in [(1, 0), (3, 1)] {
                let bed = Bed::new();
                bed.world.model.script([first.clone().into()]);
                let members = json!({ "ConversationContextId": context });
                let pending = bed.send(&with(turn("t1", "Words"), members));
                bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
                for number in 0..steers {
                    let words = if number == refused { "Bad" } else { "Good" };
                    let words = format!("{words}{number}.");
                    assert_eq!(bed.steer("t1", &steer(&format!("s{number}"), &words)).status, 202);
                }
                bed.world.model.think(move |conversation| {
                    if conversation.heard("Bad") > 0 { refusal() } else { planned(conversation) }
                });
                let heard = bed.wait(&pending).unwrap();
                heard.final_text();
                let warning = "An instruction that was added while the turn ran was left out: the model does not take it, or it is too long.";
                assert_eq!(heard.result()["UserWarnings"], json!([warning]));
                for (number, (_, state)) in states(&bed, "t1").iter().enumerate() {
                    let expected = if number == refused { "refused" } else { "delivered" };
                    assert_eq!(state, expected, "{context}, {number} of {steers}");
                }
                bed.post(&turn("t2", "Next")).final_text();
                let conversation = bed.world.model.conversation();
                assert_eq!(conversation.heard("Bad"), 0);
                assert_eq!(conversation.heard("Good"), steers - 1);
                bed.assert_chain_held();
            }
        }
    }
}

#[test]
fn a_steer_with_which_the_input_is_too_long_leaves_the_conversation_and_the_turn_goes_on() {
    let bed = Bed::new();
    bed.post(&turn("t0", "Before")).final_text();
    let pending = under_way(&bed, "Words", says(vec![call("lookup", json!({}))]).paced(5).into());
    let long = format!("Long {}", "word ".repeat(4_000));
    assert_eq!(bed.steer("t1", &steer("s1", &long)).status, 202);
    let too_long = http_error(400, json!({ "code": "context_length_exceeded" }), &[]);
    bed.world.model.narrow(6_000, too_long);
    assert_eq!(bed.wait(&pending).unwrap().final_text(), "Answer to Words.");
    assert_eq!(states(&bed, "t1"), [state("s1", "refused")]);
    bed.post(&turn("t2", "Next")).final_text();
    assert_eq!(bed.world.model.conversation().heard("Long"), 0);
    assert_eq!(bed.world.model.conversation().heard("Before"), 1);
    bed.assert_chain_held();
}

#[test]
fn of_steers_that_are_too_long_together_the_longest_leaves_or_else_all() {
    for (long, refused) in [(1..2, vec!["s1"]), (0..2, vec!["s0", "s1", "s2"])] {
        let bed = Bed::new();
        let calls = says(vec![call("lookup", json!({}))]).paced(5);
        let pending = under_way(&bed, "Words", calls.into());
        for number in 0..3 {
            let words = match long.contains(&number) {
                true => format!("Long{number} {}", "word ".repeat(4_000)),
                false => format!("Short{number}."),
            };
            assert_eq!(bed.steer("t1", &steer(&format!("s{number}"), &words)).status, 202);
        }
        let too_long = http_error(400, json!({ "code": "context_length_exceeded" }), &[]);
        bed.world.model.narrow(6_000, too_long);
        bed.wait(&pending).unwrap().final_text();
        let expected = ["s0", "s1", "s2"]
            .map(|id| state(id, if refused.contains(&id) { "refused" } else { "delivered" }));
        assert_eq!(states(&bed, "t1"), expected);
        let conversation = bed.world.model.conversation();
        assert_eq!(conversation.heard("Long"), 0);
        assert_eq!(conversation.heard("Short"), 3 - refused.len());
        bed.assert_chain_held();
    }
}

#[test]
fn a_steer_that_was_answered_stays_delivered_where_its_turn_does_not_fit_later() {
    let bed = Bed::new();
    let calls = || says(vec![call("lookup", json!({}))]);
    let refusal = |code: &str| http_error(400, json!({ "code": code, "param": "input" }), &[]);
    let pending = under_way(&bed, "Words", calls().paced(5).into());
    for (id, words) in [("s1", "Rather this."), ("s2", "Bad.")] {
        assert_eq!(bed.steer("t1", &steer(id, words)).status, 202);
    }
    // The call with both is refused, the one without the newer answers, and what follows is too long in any form.
    bed.world.model.script([refusal("invalid_image"), calls().into()]);
    bed.world.model.spoil_after(2, refusal("context_length_exceeded"));
    assert_eq!(bed.wait(&pending).unwrap().failure(), (413, "context_window_exceeded"));
    assert_eq!(states(&bed, "t1"), [state("s1", "delivered"), state("s2", "refused")]);
    bed.world.model.mend();
    bed.post(&turn("t2", "Next")).final_text();
    assert_eq!(bed.world.model.conversation().heard("Rather this."), 0);
}

#[test]
fn a_lost_chain_sends_a_steer_again_in_the_new_chain_alone() {
    let bed = Bed::new();
    let pending = under_way(&bed, "Words", says(vec![call("lookup", json!({}))]).paced(5).into());
    assert_eq!(bed.steer("t1", &steer("s1", "Rather this.")).status, 202);
    bed.run_until(|bed| bed.world.model.stored() == 1, "the first response is stored");
    bed.world.model.forget();
    bed.wait(&pending).unwrap().final_text();
    assert_each_once(&bed, &["Rather this.", "Words"]);
    bed.world.model.forget();
    bed.post(&turn("t2", "Next")).final_text();
    assert_each_once(&bed, &["Rather this.", "Words"]);
}

#[test]
fn a_timeout_keeps_what_was_pending() {
    let bed = Bed::new();
    bed.deploy("TURN_TIMEOUT_MS", "1000");
    let pending = under_way(&bed, "Words", Reply::Silence);
    assert_eq!(bed.steer("t1", &steer("s1", "Rather this.")).status, 202);
    assert_eq!(bed.wait(&pending).unwrap().failure(), (504, "upstream_timeout"));
    assert_eq!(states(&bed, "t1"), [state("s1", "kept")]);
    bed.post(&turn("t2", "Next")).final_text();
    assert_each_once(&bed, &["Rather this."]);
}
