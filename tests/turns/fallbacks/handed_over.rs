//! What the other service gets: everything that was said and done, in a form that any service takes.

use super::*;

/// Runs a turn in which the first service goes down after so many calls, and answers what it asks.
fn run(plan: &str, down_after: usize) -> (Bed, Heard) {
    let bed = with_fallbacks();
    bed.configure(|catalog| {
        add_fallbacks(catalog);
        catalog["ServerTools"][1]["Approval"] = json!("Always");
        catalog["AgentContexts"]["default"]["MaxIterations"] = json!(20);
    });
    bed.post(&turn("t0", "Before [plan: server]")).final_text();
    let calls = bed.world.model.requests();
    bed.world.model.spoil_after(down_after, down());
    let mut heard = bed.post(&turn("t1", &format!("One [plan: {plan}]")));
    while heard.result()["Kind"] != "final" {
        let given: Vec<(String, Value)> = heard
            .calls()
            .into_iter()
            .map(|id| {
                (
                    id.clone(),
                    match id.starts_with("apr_") {
                        true => json!({ "Approved": true }),
                        false => json!(format!("result of {id}")),
                    },
                )
            })
            .collect();
        let given: Vec<(&str, Value)> =
            given.iter().map(|(id, result)| (id.as_str(), result.clone())).collect();
        heard = bed.post(&results("t1", &given));
    }
    assert_eq!(bed.world.model.requests() - calls, down_after + 2, "{plan}, {down_after}");
    (bed, heard)
}

#[test]
fn a_turn_goes_on_at_any_of_its_calls_and_each_tool_runs_once() {
    let plan = "server, client, gated, mode:plain, mixed, server";
    for down_after in 0..7 {
        let (bed, heard) = run(plan, down_after);
        assert_eq!(heard.final_text(), "Answer to One.");
        assert_eq!(warnings(&heard), ["fallback_used"]);
        assert_eq!(heard.result()["ModeDisplayName"], "Plain");
        let executions = bed.world.tools.executions();
        assert!(executions.values().all(|times| *times == 1), "{down_after}: {executions:?}");
        let bodies = bed.world.spare.bodies();
        assert_whole(&bodies[0]);
        assert_eq!(bodies.len(), 7 - down_after);
        assert!(bodies[1..].iter().all(|body| body["previous_response_id"].is_string()));
        let said = bed.world.spare.conversation();
        assert_eq!(said.heard("[INSTRUCTION]\nOne"), 1);
        for (id, told) in said.outputs() {
            let is_of_client = told.contains("result of");
            assert!(!is_of_client || told.contains(&format!("result of {id}")), "{id}: {told}");
        }
        for service in [&bed.world.model, &bed.world.spare] {
            assert_eq!(service.refusals(), Vec::<String>::new(), "{down_after}");
        }
        assert_rebuilds_at(&bed);
        assert_replays(&bed, &format!("down after {down_after}"));
    }
}

/// Each recorded body is one that a service got.
fn assert_rebuilds_at(bed: &Bed) {
    let export = bed.asked("GET", "/sessions/s/export", "").text;
    let bundle = replay::Bundle::read(&export).unwrap();
    let mut got = bed.world.model.bodies();
    got.extend(bed.world.spare.bodies());
    got.extend(bed.world.third.bodies());
    for turn in &bundle.turns {
        for call in &turn.model_calls {
            let body = replay::rebuild(&bundle, turn, call).unwrap();
            let body: Value = serde_json::from_str(&body).unwrap();
            assert!(got.contains(&body), "{body}");
        }
    }
}

#[test]
fn a_steer_is_there_once() {
    let mut accepted = 0;
    for at in 1..60 {
        let bed = with_fallbacks();
        bed.world.model.spoil_after(1, down());
        let running = bed.send(&turn("t1", "One [plan: server, server]"));
        for _ in 0..at {
            bed.step();
        }
        if running.heard().is_some() || bed.session().status != 200 {
            continue;
        }
        let steered = bed.steer("t1", &steer("x", "Also [plan: server, server]"));
        let heard = bed.wait(&running).unwrap();
        heard.final_text();
        if steered.status == 202 {
            accepted += 1;
            let said = bed.world.spare.conversation();
            assert_eq!(said.heard("[INSTRUCTION]\nAlso"), 1, "at {at}");
        }
        let executions = bed.world.tools.executions();
        assert!(executions.values().all(|times| *times == 1), "{at}: {executions:?}");
    }
    assert!(accepted > 0);
}

#[test]
fn nothing_that_only_the_first_service_knows_is_sent_to_another() {
    let bed = with_fallbacks();
    bed.configure(|catalog| {
        add_fallbacks(catalog);
        catalog["AgentContexts"]["spare"]["Continuation"] = json!("replay");
    });
    let odd = "functions.lookup:0";
    bed.world.model.call_ids.borrow_mut().push_back(odd);
    let search = json!({ "type": "web_search_call", "status": "completed", "action": { "type": "search", "query": "q" } });
    let first = says(vec![
        Item::Reasoning,
        Item::Hosted(search),
        Item::Reasoning,
        call("lookup", json!({ "of": "x" })),
    ]);
    bed.world.model.script([first.into(), down(), down()]);
    bed.world
        .spare
        .script([says(vec![Item::Reasoning, call("lookup", json!({ "of": "y" }))]).into()]);
    let heard = bed.post(&with(turn("t1", "One"), json!({ "ConversationContextId": "replay" })));
    assert_eq!(heard.final_text(), "Answer to One.");
    let bodies = bed.world.spare.bodies();
    assert_whole(&bodies[0]);
    let input = bodies[0]["input"].as_array().unwrap();
    let kinds: Vec<&str> = input.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "message", "function_call", "function_call_output"]);
    let id = input[2]["call_id"].as_str().unwrap();
    assert!(id.len() == 37 && id.starts_with("call_"), "{id}");
    // Its own reasoning goes back to it, the other one's does not, and storage and tools keep the id.
    let input = bodies[1]["input"].as_array().unwrap();
    let reasoning = input.iter().filter(|item| item["type"] == "reasoning").count();
    assert_eq!(reasoning, 1, "{input:?}");
    assert_eq!(bed.world.tools.executions()[odd], 1);
    let stored = bed.disk.read("SELECT call_id, tool_call_id FROM calls WHERE model_call = 0");
    assert_eq!((&stored[0]["call_id"], &stored[0]["tool_call_id"]), (&json!(odd), &json!(odd)));
    for service in [&bed.world.model, &bed.world.spare] {
        assert_eq!(service.refusals(), Vec::<String>::new());
    }
    assert_rebuilds_at(&bed);
}

#[test]
fn what_a_compaction_of_the_first_service_stands_for_is_sent_from_storage() {
    let bed = with_fallbacks();
    bed.configure(|catalog| {
        add_fallbacks(catalog);
        catalog["AgentContexts"]["replay"]["Compaction"] =
            json!({ "By": "Service", "Threshold": 1_000_000 });
    });
    let of =
        |id: &str, words: &str| with(turn(id, words), json!({ "ConversationContextId": "replay" }));
    bed.post(&of("t1", "One")).final_text();
    let compacted = says(vec![Item::Compaction, Item::Text(vec!["Two.".to_owned()])]);
    bed.world.model.script([compacted.into()]);
    bed.post(&of("t2", "Two")).final_text();
    bed.post(&of("t3", "Three")).final_text();
    let own = bed.world.model.bodies().pop().unwrap();
    assert!(!own["input"].to_string().contains("[INSTRUCTION]\\nOne"), "{own}");
    bed.world.model.spoil_after(0, down());
    bed.post(&of("t4", "Four")).final_text();
    let body = &bed.world.spare.bodies()[0];
    assert_whole(body);
    for words in ["One", "Two", "Three", "Four"] {
        assert!(body["input"].to_string().contains(&format!("[INSTRUCTION]\\n{words}")), "{body}");
    }
    assert!(!body["input"].to_string().contains("compaction"), "{body}");
    // The first one gets its item again.
    bed.world.model.mend();
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 30_000);
    bed.post(&of("t5", "Five")).final_text();
    let own = bed.world.model.bodies().pop().unwrap()["input"].to_string();
    assert!(own.contains("compaction") && !own.contains("[INSTRUCTION]\\nOne"), "{own}");
    assert!(own.contains("[INSTRUCTION]\\nFour"), "{own}");
    assert_rebuilds_at(&bed);
    assert_replays(&bed, "a compaction of the first service");
}

#[test]
fn a_fall_back_has_its_own_settings_and_the_session_s_context_the_others() {
    let bed = with_fallbacks();
    bed.configure(|catalog| {
        add_fallbacks(catalog);
        catalog["AgentContexts"]["default"]["ModelParameters"] =
            json!({ "top_p": 0.1, "service_tier": "flex" });
        catalog["AgentContexts"]["default"]["Budget"] = json!({ "SessionTokens": 1_000_000 });
        let spare = &mut catalog["AgentContexts"]["spare"];
        spare["ModelParameters"] = json!({ "top_p": 0.2 });
        spare["Headers"] = json!({ "X-Spare": "yes" });
        spare["Query"] = json!({ "v": "1" });
        spare["PromptCacheKey"] = json!("None");
        spare["OfferHostedTools"] = json!(false);
        spare["Budget"] = json!({ "TurnTokens": 1 });
        let conversation = &mut catalog["ConversationContexts"]["default"];
        conversation["Model"] = json!("of-the-conversation");
        conversation["HostedTools"] = json!([{ "type": "web_search" }]);
        conversation["ModelParameters"] = json!({ "temperature": 0.5 });
    });
    bed.world.model.spoil_after(0, down());
    bed.post(&turn("t1", "One [plan: server]")).final_text();
    let (first, other) = (bed.world.model.bodies().remove(0), bed.world.spare.bodies().remove(0));
    assert_eq!(
        (&first["model"], &other["model"]),
        (&json!("of-the-conversation"), &json!("spare"))
    );
    assert_eq!((&first["top_p"], &other["top_p"]), (&json!(0.1), &json!(0.2)));
    assert_eq!((&first["service_tier"], &other["service_tier"]), (&json!("flex"), &Value::Null));
    assert_eq!((&first["temperature"], &other["temperature"]), (&json!(0.5), &json!(0.5)));
    assert!(first["prompt_cache_key"].is_string() && other["prompt_cache_key"].is_null());
    let kinds = |body: &Value| body["tools"].to_string().contains("web_search");
    assert_eq!((kinds(&first), kinds(&other)), (true, false));
    let lines = bed.world.model_calls.borrow();
    let line = lines.iter().find(|line| line.url.contains("spare.example")).unwrap();
    assert_eq!(line.url, "https://spare.example/v1/responses?v=1");
    assert!(line.headers.contains(&("X-Spare".to_owned(), "yes".to_owned())));
    drop(lines);
    assert_rebuilds_at(&bed);
    let count = |body: &Value| body["tools"].as_array().unwrap().len();
    assert_eq!(count(&first), count(&other) + 1);
}

/// A session whose conversation is too long for the first service, which goes down then.
fn too_long_and_down() -> Bed {
    let bed = with_fallbacks();
    let long = "word ".repeat(400);
    for id in ["t1", "t2", "t3"] {
        bed.post(&turn(id, &format!("{id} {long}"))).final_text();
    }
    let too_long = http_error(400, json!({ "code": "context_length_exceeded" }), &[]);
    bed.world.model.script([too_long, down(), down()]);
    bed
}

#[test]
fn a_summary_is_made_at_another_service_and_the_turn_stays_there() {
    let bed = too_long_and_down();
    let heard = bed.post(&turn("t4", "Four"));
    assert_eq!(heard.final_text(), "Answer to Four.");
    assert_eq!(warnings(&heard), ["fallback_used"]);
    let calls = model_calls(&bed, "t4");
    let told: Vec<(&Value, bool)> =
        calls.iter().map(|call| (&call["Service"], call["Summary"] == true)).collect();
    let of = |service: &str| json!(service);
    assert!(
        told.contains(&(&of("spare"), true)) && told.contains(&(&of("spare"), false)),
        "{told:?}"
    );
    assert_rebuilds_at(&bed);
}

#[test]
fn a_call_behind_a_threshold_s_summary_of_another_service_goes_there_in_its_form() {
    let begun = |turns: u32| {
        let bed = with_fallbacks();
        bed.configure(|catalog| {
            add_fallbacks(catalog);
            catalog["AgentContexts"]["default"]["Compaction"] = json!({ "Threshold": 3_000 });
        });
        bed.world.model.counts.set(true);
        for number in 1..=turns {
            bed.post(&turn(&format!("t{number}"), &"word ".repeat(300))).final_text();
        }
        bed
    };
    let compacts = |bed: &Bed, number: u32| {
        model_calls(bed, &format!("t{number}")).iter().any(|call| call["Summary"] == true)
    };
    let bed = begun(30);
    let number = (1..=30).find(|number| compacts(&bed, *number)).unwrap();

    let bed = begun(number - 1);
    bed.world.model.spoil_after(0, down());
    let id = format!("t{number}");
    assert_eq!(warnings(&bed.post(&turn(&id, &"word ".repeat(300)))), ["fallback_used"]);
    let calls = model_calls(&bed, &id);
    let made: Vec<bool> = calls
        .iter()
        .filter(|call| call["Service"] == "spare")
        .map(|call| call["Summary"] == true)
        .collect();
    assert_eq!((made.contains(&true), made.last()), (true, Some(&false)), "{calls:?}");
    let body = bed.world.spare.bodies().pop().unwrap();
    assert_eq!(body["previous_response_id"], Value::Null, "the first service's");
    assert_rebuilds_at(&bed);
}

#[test]
fn a_call_behind_a_summary_that_no_service_has_made_begins_with_the_first_again() {
    let bed = too_long_and_down();
    bed.world.spare.script([down(), down()]);
    bed.world.third.script([down(), down(), down()]);
    let heard = bed.post(&turn("t4", "Four"));
    assert_eq!((heard.final_text(), warnings(&heard)), ("Answer to Four.", vec![]));
    assert_eq!((bed.world.spare.requests(), bed.world.third.requests()), (2, 3));
    assert_rebuilds_at(&bed);
    assert_eq!(bed.post(&turn("t5", "Five")).final_text(), "Answer to Five.");
}
