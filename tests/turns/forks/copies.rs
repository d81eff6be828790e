//! What a fork has of its parent, and how both go on.

use super::*;

/// Replays a session's export, and asserts that nothing differs.
fn assert_replays(bed: &Bed, session: &str) {
    let export = bed.asked("GET", &format!("/sessions/{session}/export"), "").text;
    let report = replay::report(&export).unwrap();
    assert_eq!(report.faults, 0, "{session}: {}", report.text);
}

fn three_turns(bed: &Bed) {
    bed.say("p", "t1", "One [plan: server]").final_text();
    bed.say("p", "t2", "Two [plan: mode:plain]").final_text();
    bed.say("p", "t3", "Three").final_text();
}

#[test]
fn a_fork_has_all_up_to_its_turn_and_both_sessions_go_on() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        let first = with(
            turn("t1", "One [plan: server]"),
            json!({ "SessionId": "p", "ConversationContextId": context }),
        );
        bed.post(&first).final_text();
        bed.say("p", "t2", "Two [plan: mode:plain]").final_text();
        bed.say("p", "t3", "Three").final_text();
        let calls = bed.world.model.requests();
        let parent = bed.look("p", "/export");

        let made = bed.fork(json!({ "AfterTurnId": "t2" }));
        assert_eq!(made.status, 201, "{}", made.text);
        assert!(!made.replayed);
        assert_eq!(
            *made.result(),
            json!({ "SessionId": "f", "ParentSessionId": "p", "AfterTurnId": "t2", "Turns": 2 })
        );
        assert_eq!(bed.world.model.requests(), calls, "a fork calls no model");
        assert_eq!(bed.look("p", "/export"), parent, "the parent is untouched");

        let fork = bed.look("f", "");
        assert_eq!(fork["Parent"], json!({ "SessionId": "p", "TurnId": "t2" }));
        assert_eq!((&fork["TurnCount"], &fork["ModeDisplayName"]), (&json!(2), &json!("Plain")));
        let export = bed.look("f", "/export");
        assert_eq!(export["Parent"], fork["Parent"]);
        assert_eq!(export["ModeHistory"], parent["ModeHistory"]);
        for turn in 0..2 {
            let (mut own, mut copied) =
                (parent["Turns"][turn].clone(), export["Turns"][turn].clone());
            let outcome =
                |turn: &mut Value| turn["Submissions"][0]["Outcome"]["Result"]["SessionId"].take();
            assert_eq!((outcome(&mut own), outcome(&mut copied)), (json!("p"), json!("f")));
            assert_eq!(copied, own);
        }
        let turns = bed.look("f", "/turns");
        assert_eq!(turns["Turns"].as_array().unwrap().len(), 2);

        bed.say("f", "other", "Otherwise [plan: server]").final_text();
        let request = bed.latest_request();
        bed.say("p", "t4", "Four [plan: server]").final_text();
        bed.say("f", "t3", "Another three").final_text();
        assert!(request.to_string().contains("Answer to") || context == "default");
        bed.assert_chain_held();
        assert_replays(&bed, "f");
        assert_replays(&bed, "p");
    }
}

#[test]
fn a_copied_turn_that_is_repeated_replays_in_a_fork_of_a_fork_too() {
    let bed = Bed::new();
    three_turns(&bed);
    let asked = bed.say("p", "t4", "Four [plan: client]").calls();
    let answer = |session: &str| {
        with(results("t4", &[(&asked[0], json!(1))]), json!({ "SessionId": session }))
    };
    bed.post(&answer("p")).final_text();
    bed.fork(json!({ "AfterTurnId": "t4" })).result();
    let again = json!({ "SessionId": "g" }).to_string();
    assert_eq!(bed.asked("POST", "/sessions/f/fork", &again).status, 201);
    let calls = bed.world.model.requests();
    for session in ["f", "g"] {
        let turn = bed.say(session, "t3", "Three");
        assert!(turn.replayed);
        assert_eq!(turn.result()["SessionId"], session);
        assert_eq!(bed.say(session, "t3", "Drei").failure(), (409, "turn_conflict"));
        let paused = bed.say(session, "t4", "Four [plan: client]");
        assert!(paused.replayed && paused.result()["SessionId"] == session);
        assert_eq!(paused.calls(), asked);
        assert!(bed.post(&answer(session)).replayed);
    }
    assert_eq!(bed.world.model.requests(), calls);
    assert_eq!(bed.look("g", "")["Parent"], json!({ "SessionId": "f", "TurnId": "t4" }));
}

#[test]
fn a_failed_turn_can_be_repeated_in_the_fork_and_in_a_fork_of_it() {
    let bed = Bed::new();
    bed.say("p", "t1", "One").final_text();
    bed.world.model.script([http_error(401, json!({}), &[])]);
    assert_eq!(bed.say("p", "t2", "Two").status, 502);
    assert_eq!(bed.fork(json!({})).result()["AfterTurnId"], "t2");
    assert_eq!(bed.asked("POST", "/sessions/f/fork", r#"{"SessionId":"g"}"#).status, 201);
    for session in ["g", "f", "p"] {
        assert_eq!(bed.say(session, "t2", "Two").final_text(), "Answer to Two.");
        assert!(bed.say(session, "t2", "Two").replayed);
    }
    bed.assert_chain_held();
}

#[test]
fn the_session_s_budget_counts_anew_and_its_turns_keep_what_they_used() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Budget"] = json!({ "SessionTokens": 20 });
    });
    let spent = bed.say("p", "t1", "One");
    spent.final_text();
    assert_eq!(bed.say("p", "t2", "Two").failure(), (403, "budget_exceeded"));
    bed.fork(json!({ "AfterTurnId": "t1" })).result();
    assert_eq!(bed.look("f", "/turns/t1")["Usage"], bed.look("p", "/turns/t1")["Usage"]);
    bed.say("f", "t2", "Two").final_text();
    assert_eq!(bed.say("f", "t3", "Three").failure(), (403, "budget_exceeded"));
}

#[test]
fn a_fork_goes_on_under_a_context_that_is_there() {
    let bed = Bed::new();
    three_turns(&bed);
    bed.configure(|catalog| {
        let contexts = &mut catalog["ConversationContexts"];
        contexts["other"] = contexts["default"].take();
        contexts.as_object_mut().unwrap().remove("default");
    });
    let fork = |body: Value| bed.asked("POST", "/sessions/p/fork", &body.to_string());
    assert_eq!(fork(json!({ "SessionId": "f" })).failure(), (404, "context_not_found"));
    let to_other = json!({ "SessionId": "f", "ConversationContextId": "other" });
    assert_eq!(fork(to_other).status, 201, "the refused fork has not used the id up");
}

#[test]
fn an_earlier_turn_is_forked_only_where_the_context_is_there_that_it_had() {
    let bed = Bed::new();
    let configure = |old: Option<Value>| {
        bed.configure(|catalog| {
            let contexts = &mut catalog["ConversationContexts"];
            contexts["new"] = contexts["default"].clone();
            if let Some(old) = old {
                contexts["old"] = with(contexts["default"].clone(), old);
            }
        });
    };
    configure(Some(json!({})));
    let first = with(turn("t1", "One"), json!({ "SessionId": "p" }));
    bed.post(&with(first, json!({ "ConversationContextId": "old" }))).final_text();
    configure(Some(json!({ "Instead": "new" })));
    bed.say("p", "t2", "Two").final_text();
    configure(None);
    let fork = bed.fork(json!({ "AfterTurnId": "t1" }));
    assert_eq!(fork.failure(), (404, "context_not_found"));
    bed.fork(json!({ "AfterTurnId": "t2" })).result();
    bed.say("f", "next", "Next").final_text();
}

#[test]
fn a_fork_of_an_earlier_turn_is_sent_the_hosted_tools_that_its_parent_was_not_sent() {
    let bed = Bed::new();
    let offer = |offered: bool| {
        bed.configure(|catalog| {
            catalog["Modes"][0]["HostedTools"] = json!([{ "type": "web_search" }]);
            catalog["AgentContexts"]["frugal"]["OfferHostedTools"] = json!(offered);
        });
    };
    offer(false);
    let frugal = json!({ "SessionId": "p", "ConversationContextId": "frugal" });
    bed.post(&with(turn("t1", "One"), frugal)).final_text();
    bed.say("p", "t2", "Two").final_text();
    offer(true);
    bed.fork(json!({ "AfterTurnId": "t1" })).result();
    bed.say("f", "next", "Next").final_text();
    let request = bed.latest_request();
    assert!(request["previous_response_id"].is_string(), "{request}");
    assert!(request["tools"].to_string().contains("web_search"), "{request}");
}

#[test]
fn another_context_has_its_own_prompt_and_begins_a_chain_of_its_own() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["other"] =
            json!({ "ApiKeySecret": "OPENAI_API_KEY", "Model": "n" });
        let contexts = &mut catalog["ConversationContexts"];
        contexts["same"] = contexts["default"].clone();
        contexts["prompt"] = contexts["default"].clone();
        contexts["prompt"]["BootPrompt"] = json!("Be brief.");
        contexts["agent"] = contexts["default"].clone();
        contexts["agent"]["AgentContextId"] = json!("other");
    });
    three_turns(&bed);
    let fork = |id: &str, parent: &str, context: &str| {
        let body =
            json!({ "SessionId": id, "AfterTurnId": "t2", "ConversationContextId": context });
        bed.asked("POST", &format!("/sessions/{parent}/fork"), &body.to_string()).result();
        let session = bed.look(id, "");
        assert_eq!(session["ConversationContextId"], context);
        bed.say(id, "next", "Next").final_text();
        bed.latest_request()
    };
    let systems = |request: &Value| {
        let input = request["input"].as_array().unwrap();
        let systems = input.iter().filter(|item| item["role"] == "system");
        systems
            .map(|item| item["content"][0]["text"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let same = fork("same", "p", "same");
    assert!(same["previous_response_id"].is_string(), "{same}");
    for (context, model, said) in
        [("prompt", "m", vec!["Be brief."]), ("agent", "n", vec!["Boot."])]
    {
        let request = fork(context, "p", context);
        assert_eq!(
            (&request["previous_response_id"], &request["model"]),
            (&Value::Null, &json!(model))
        );
        assert_eq!(systems(&request), said);
        assert!(request["input"].to_string().contains("One"));
        bed.say(context, "more", "More").final_text();
        assert!(bed.latest_request()["previous_response_id"].is_string());
    }
    // The entry that an earlier body refers to is as it was.
    let request = fork("again", "prompt", "prompt");
    assert_eq!(
        (systems(&request), &request["previous_response_id"]),
        (vec!["Be brief.".to_owned()], &Value::Null)
    );
    let request = fork("back", "prompt", "default");
    assert_eq!(systems(&request), ["Boot."]);
    for session in ["same", "prompt"] {
        assert_replays(&bed, session);
    }
    bed.assert_chain_held();
}

#[test]
fn the_parent_s_own_context_changes_nothing_though_its_prompt_is_another_by_now() {
    let bed = Bed::new();
    three_turns(&bed);
    bed.configure(|catalog| {
        catalog["ConversationContexts"]["default"]["BootPrompt"] = json!("Be brief.");
    });
    bed.fork(json!({ "ConversationContextId": "default" })).result();
    bed.say("f", "next", "Next").final_text();
    let request = bed.latest_request();
    assert!(request["previous_response_id"].is_string(), "{request}");
    assert_replays(&bed, "f");
    bed.assert_chain_held();
}

#[test]
fn erasing_one_of_both_leaves_the_other_whole() {
    for (erased, left) in [("p", "f"), ("f", "p")] {
        let bed = Bed::new();
        bed.configure(|catalog| {
            catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true);
        });
        three_turns(&bed);
        let before = bed.world.model.held.borrow().clone();
        bed.fork(json!({ "AfterTurnId": "t2" })).result();
        bed.say("f", "own", "Own").final_text();
        let of_fork: Vec<String> =
            bed.world.model.held.borrow().difference(&before).cloned().collect();
        let shown = bed.look(left, "/export");
        let receipt = bed.asked("DELETE", &format!("/sessions/{erased}"), "");
        assert_eq!(receipt.result()["Turns"], 3);
        let deleted = if erased == "p" { before.len() } else { of_fork.len() };
        assert_eq!(receipt.result()["StoredResponses"]["Deleted"], deleted);
        bed.pass_alarms();
        assert_eq!(tables(&bed, erased), Vec::<String>::new());
        assert_eq!(bed.look(left, "/export"), shown);
        bed.say(left, "more", "More").final_text();
        assert_eq!(bed.world.model.refusals(), Vec::<String>::new());
    }
}

#[test]
fn texts_of_later_turns_are_not_in_the_fork() {
    let bed = Bed::new();
    let context = |turn: Value, text: &str| {
        with(turn, json!({ "SessionId": "p", "SolutionContextText": text }))
    };
    bed.post(&context(turn("t1", "One"), "First context.")).final_text();
    bed.post(&context(turn("t2", "Two"), "Later context, a secret.")).final_text();
    bed.say("p", "t3", &format!("Long {}", "secret ".repeat(100_000))).final_text();
    bed.fork(json!({ "AfterTurnId": "t1" })).result();
    let texts = bed.object("f").disk.read("SELECT text FROM texts");
    assert!(texts.iter().any(|row| row["text"] == "First context."));
    assert!(texts.iter().all(|row| !row["text"].as_str().unwrap().contains("secret")));
    assert_eq!(bed.look("f", "/export")["SolutionContextText"], "First context.");
    bed.object("f").restart(&bed.world);
    bed.fork(json!({ "AfterTurnId": "t1" })).result();
}

#[test]
fn long_texts_and_outcomes_are_copied_in_pages() {
    let bed = Bed::new();
    let long = "Wort ".repeat(300_000);
    bed.world.model.script([say(&long).into()]);
    bed.say("p", "t1", &format!("One {long}")).final_text();
    bed.say("p", "t2", "Two").final_text();
    bed.fork(json!({})).result();
    let turn = bed.say("f", "t1", &format!("One {long}"));
    assert!(turn.replayed && turn.result()["SessionId"] == "f");
    assert_eq!(turn.final_text(), long);
    assert_eq!(bed.say("p", "t1", &format!("One {long}")).result()["SessionId"], "p");
    let texts = |session: &str| {
        let rows = bed
            .object(session)
            .disk
            .read("SELECT hash, part, LENGTH(text) AS bytes FROM texts ORDER BY 1, 2");
        rows.len()
    };
    assert_eq!(texts("f"), texts("p"));
    bed.say("f", "t3", "Three").final_text();
    bed.assert_chain_held();
}

/// `default` is compacted by its service; the conversation context `agent` leads to another agent context.
fn add_another_agent(catalog: &mut Value) {
    let agents = &mut catalog["AgentContexts"];
    agents["default"]["Compaction"] = json!({ "By": "Service", "Threshold": 5_000 });
    agents["other"] = json!({ "ApiKeySecret": "OPENAI_API_KEY", "Model": "n" });
    let contexts = &mut catalog["ConversationContexts"];
    contexts["agent"] = contexts["default"].clone();
    contexts["agent"]["AgentContextId"] = json!("other");
}

/// The input of the latest request, which has no compaction item.
fn sent_without_compaction_item(bed: &Bed) -> String {
    let sent = bed.latest_request()["input"].to_string();
    assert!(!sent.contains(r#""type":"compaction""#), "{sent}");
    sent
}

#[test]
fn another_agent_context_is_sent_what_a_compaction_item_stands_for() {
    let bed = Bed::new();
    bed.configure(add_another_agent);
    bed.say("p", "t1", "One").final_text();
    let items = vec![Item::Compaction, Item::Text(vec!["Done.".to_owned()])];
    bed.world.model.script([says(items).into()]);
    bed.say("p", "t2", "Two").final_text();
    bed.fork(json!({ "ConversationContextId": "agent" })).result();
    bed.say("f", "t3", "Three").final_text();
    let sent = sent_without_compaction_item(&bed);
    for words in ["One", "Two", "Three"] {
        assert!(sent.contains(&format!("[INSTRUCTION]\\n{words}")), "{sent}");
    }
    assert_replays(&bed, "f");
}

#[test]
fn the_same_holds_where_that_service_refuses_the_reasoning_beside_the_item() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        add_another_agent(catalog);
        for agent in ["default", "other"] {
            catalog["AgentContexts"][agent]["Continuation"] = json!("replay");
        }
    });
    bed.say("p", "t1", "One").final_text();
    let text = |words: &str| Item::Text(vec![words.to_owned()]);
    let items = vec![Item::Reasoning, text("Before."), Item::Compaction, text("Behind.")];
    bed.world.model.script([says(items).into()]);
    bed.say("p", "t2", "Two").final_text();
    bed.world.model.rules.refuse_by(|body, items| {
        let has_reasoning = items.iter().any(|item| item["type"] == "reasoning");
        let message = "The encrypted content could not be verified.";
        let error = json!({ "message": message, "code": "invalid_encrypted_content" });
        (has_reasoning && body["model"] == "n").then(|| http_error(400, error, &[]))
    });
    bed.fork(json!({ "ConversationContextId": "agent" })).result();
    bed.say("f", "t3", "Three").final_text();
    let sent = sent_without_compaction_item(&bed);
    for words in ["One", "Two", "Three", "Before.", "Behind."] {
        assert!(sent.contains(words), "{words}: {sent}");
    }
}

#[test]
fn the_same_holds_where_a_rung_has_left_the_compacted_turns_out() {
    let bed = Bed::new();
    bed.configure(add_another_agent);
    bed.say("p", "t1", "One").final_text();
    let items = vec![Item::Compaction, Item::Text(vec!["Done.".to_owned()])];
    bed.world.model.script([says(items).into()]);
    bed.say("p", "t2", "Two").final_text();
    bed.say("p", "t3", "Odd").final_text();
    bed.world.model.rules.refuse_by(|body, items| {
        let is_odd = items.iter().any(|item| item.to_string().contains("Odd"));
        let error = json!({ "message": "Bad request.", "code": "odd_request" });
        (is_odd && body["model"] != "n").then(|| http_error(400, error, &[]))
    });
    bed.say("p", "t4", "Four").final_text();
    bed.fork(json!({ "ConversationContextId": "agent" })).result();
    bed.say("f", "t5", "Five").final_text();
    let sent = sent_without_compaction_item(&bed);
    for words in ["One", "Two", "Odd", "Four", "Five"] {
        assert!(sent.contains(&format!("[INSTRUCTION]\\n{words}")), "{sent}");
    }
}

#[test]
fn what_a_later_turn_had_to_shorten_is_whole_in_a_fork_of_the_turn_before() {
    let bed = Bed::new();
    let begun = with(turn("t1", "Read [plan: client]"), json!({ "SessionId": "p" }));
    let asked = bed.post(&begun).calls();
    bed.world.model.script([http_error(401, json!({}), &[])]);
    let much = "x".repeat(50_000);
    let given = results("t1", &[(&asked[0], json!(much))]);
    bed.post(&with(given, json!({ "SessionId": "p" }))).failure();
    let refusal = || http_error(400, json!({ "code": "context_length_exceeded" }), &[]);
    bed.world.model.narrow(12_000, refusal());
    bed.say("p", "t2", "Two").final_text();
    assert!(bed.latest_request().to_string().contains(" bytes were left out here: "));
    bed.fork(json!({ "AfterTurnId": "t1" })).result();
    bed.world.model.narrow(1_000_000, refusal());
    bed.say("f", "t3", "Three").final_text();
    assert!(bed.latest_request().to_string().contains(&much));
}

#[test]
fn a_turn_that_failed_behind_its_compaction_goes_on_alike_in_a_fork_of_it_when_others_followed() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        bed.world.model.counts.set(true);
        bed.configure(|catalog| {
            catalog["AgentContexts"][context]["Compaction"] = json!({ "Threshold": 1_500 });
        });
        for id in ["t1", "t2"] {
            let words = format!("{id} {}", "word ".repeat(400));
            let begun = with(turn(id, &words), json!({ "SessionId": "p" }));
            bed.post(&with(begun, json!({ "ConversationContextId": context }))).final_text();
        }
        let asked = bed.say("p", "t3", "Read [plan: client]").calls();
        bed.world.model.rules.refuse_by(|_, items| {
            let is_output = |item: &ConversationItem| item.to_string().contains("xxx");
            items.iter().any(is_output).then(|| http_error(401, json!({}), &[]))
        });
        let given = results("t3", &[(&asked[0], json!("x".repeat(2_500)))]);
        bed.post(&with(given, json!({ "SessionId": "p" }))).failure();
        let compactions = bed.look("p", "/turns/t3/trace")["Compactions"].clone();
        assert_eq!(compactions.as_array().map(Vec::len), Some(1), "{context}: {compactions}");
        bed.world.model.rules.refuse_nothing();
        bed.fork(json!({ "AfterTurnId": "t3" })).result();
        bed.say("p", "t4", "Four").final_text();
        bed.fork(json!({ "SessionId": "g", "AfterTurnId": "t3" })).result();
        let sent = ["f", "g"].map(|session| {
            let before = bed.world.model.bodies().len();
            bed.say(session, "next", "Next").final_text();
            (bed.world.model.bodies().len() - before, bed.latest_request())
        });
        assert_eq!(sent[0], sent[1], "{context}");
    }
}

#[test]
fn a_long_progress_is_copied_whole() {
    let bed = Bed::new();
    let name = |number: usize| format!("{number}{}", "a".repeat(600));
    let artifact = |number| {
        json!({ "RelativePath": name(number), "FileName": name(number), "Contents": "AAAA", "Encoding": "base64",
            "Origin": "ide", "MimeType": "application/octet-stream" })
    };
    let artifacts: Vec<Value> = (0..1000).map(artifact).collect();
    let request =
        with(turn("t1", "Hello"), json!({ "SessionId": "p", "InputArtifacts": artifacts }));
    bed.post(&request).final_text();
    assert_eq!(bed.fork(json!({})).status, 201);
    let warnings = |session| bed.look(session, "/export")["Turns"][0]["UserWarnings"].clone();
    assert_eq!(warnings("f").as_array().unwrap().len(), 1000);
    assert_eq!(warnings("f"), warnings("p"));
}

#[test]
fn a_chain_of_forks_costs_its_newest_session_no_more_the_longer_it_is() {
    let bed = Bed::new();
    bed.say("f0", "t1", "One").final_text();
    for number in 0..102 {
        let body = json!({ "SessionId": format!("f{}", number + 1) }).to_string();
        let forked = bed.ask("POST", &format!("/sessions/f{number}/fork"), &[], &body);
        assert_eq!(bed.wait(&forked).unwrap().status, 201);
    }
    let session = bed.object("f102").disk.session().unwrap();
    let ancestors = session["state"]["fork"]["ancestors"].as_array().unwrap();
    assert_eq!(
        (ancestors.len(), &ancestors[0], &ancestors[99]),
        (100, &json!("f101"), &json!("f2"))
    );
}
