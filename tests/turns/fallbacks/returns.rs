//! The session comes back to its first service, and is erased at each service that has answered.

use super::*;

/// From here on the first service answers again, and rests no more.
fn mend(bed: &Bed) {
    bed.world.model.mend();
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 30_000);
}

#[test]
fn the_next_turn_begins_at_the_first_service_which_gets_the_whole_conversation_once() {
    for context in ["default", "replay"] {
        let bed = with_fallbacks();
        let of = |id: &str, words: &str| {
            with(turn(id, words), json!({ "ConversationContextId": context }))
        };
        bed.post(&of("t1", "One [plan: server]")).final_text();
        bed.world.model.spoil_after(1, down());
        let heard = bed.post(&of("t2", "Two [plan: server, server]"));
        assert_eq!(warnings(&heard), ["fallback_used"]);
        // It rests, so the session stays, and the other one's chain goes on.
        let heard = bed.post(&of("t3", "Three"));
        assert_eq!(warnings(&heard), ["fallback_used"]);
        let continued = &bed.world.spare.bodies().pop().unwrap()["previous_response_id"];
        assert!(continued.is_string(), "{context}");
        mend(&bed);
        for id in ["t4", "t5"] {
            let heard = bed.post(&of(id, "Four [plan: server]"));
            assert_eq!((heard.final_text(), warnings(&heard)), ("Answer to Four.", vec![]));
        }
        let is_chained = context == "default";
        let rebuilt: Vec<bool> = ["t4", "t5"]
            .iter()
            .flat_map(|id| model_calls(&bed, id))
            .map(|call| call["Rebuilt"] == true)
            .collect();
        assert_eq!(rebuilt, [is_chained, false, false, false], "{context}");
        let said = bed.world.model.conversation();
        for words in ["One", "Two", "Three"] {
            assert_eq!(said.heard(&format!("[INSTRUCTION]\n{words}")), 1, "{words}");
        }
        for service in [&bed.world.model, &bed.world.spare] {
            assert_eq!(service.refusals(), Vec::<String>::new(), "{context}");
        }
        assert_replays(&bed, context);
    }
}

#[test]
fn sessions_that_go_to_and_fro_at_random_lose_nothing_and_replay() {
    for seed in 0..30 {
        let mut random = Random(seed);
        let bed = with_fallbacks();
        bed.configure(|catalog| {
            add_fallbacks(catalog);
            let continuation = if seed % 3 == 0 { "replay" } else { "stored" };
            catalog["AgentContexts"]["spare"]["Continuation"] = json!(continuation);
        });
        let context = if seed % 2 == 0 { "default" } else { "replay" };
        let plans =
            ["server", "server, two-servers", "fragile, server", "server, mode:ddr", "unoffered"];
        for number in 1..=8 {
            let services = [&bed.world.model, &bed.world.spare];
            for service in services {
                service.mend();
                if random.chance(50) {
                    service.spoil_after(random.below(3) as usize, down());
                }
            }
            let executor = &bed.world.executor;
            executor.set_now_ms(executor.now_ms() + random.below(60_000));
            let plan = plans[random.below(plans.len() as u64) as usize];
            let request = turn(&format!("t{number}"), &format!("w{number} [plan: {plan}]"));
            let heard = bed.post(&with(request, json!({ "ConversationContextId": context })));
            let text = heard.final_text().to_owned();
            assert!(text.ends_with(&format!("Answer to w{number}.")), "{seed}: {text}");
        }
        for service in [&bed.world.model, &bed.world.spare, &bed.world.third] {
            assert_eq!(service.refusals(), Vec::<String>::new(), "{seed}");
        }
        let executions = bed.world.tools.executions();
        assert!(executions.values().all(|times| *times == 1), "{seed}: {executions:?}");
        assert_replays(&bed, &format!("seed {seed}"));
    }
}

#[test]
fn reasoning_that_either_service_does_not_take_back_is_refused_once() {
    let bed = with_fallbacks();
    bed.configure(|catalog| {
        add_fallbacks(catalog);
        catalog["AgentContexts"]["spare"]["Continuation"] = json!("replay");
    });
    let of = |id: &str| {
        with(turn(id, "One [plan: server]"), json!({ "ConversationContextId": "replay" }))
    };
    let thinks = || says(vec![Item::Reasoning, call("lookup", json!({ "of": "x" }))]).into();
    let refuses = |service: &ModelService| {
        service.rules.refuse_by(|body, _| {
            let is_sent = body["input"].to_string().contains("encrypted_content");
            let message = "The encrypted content could not be verified.";
            let error = json!({ "message": message, "code": "invalid_encrypted_content" });
            is_sent.then(|| http_error(400, error, &[]))
        });
    };
    bed.world.model.script([thinks(), down(), down()]);
    bed.world.spare.script([thinks()]);
    refuses(&bed.world.spare);
    assert_eq!(bed.post(&of("t1")).final_text(), "Answer to One.");
    let refused =
        |id: &str| model_calls(&bed, id).iter().filter(|call| !call["Fault"].is_null()).count();
    assert_eq!(refused("t1"), 1);
    mend(&bed);
    refuses(&bed.world.model);
    bed.world.model.script([thinks()]);
    assert_eq!(bed.post(&of("t2")).final_text(), "Answer to One.");
    assert_eq!(bed.post(&of("t3")).final_text(), "Answer to One.");
    assert!(refused("t2") + refused("t3") <= 1, "{} {}", refused("t2"), refused("t3"));
}

#[test]
fn each_stored_response_is_deleted_at_the_service_that_made_it() {
    for (of_first, of_spare) in [(true, true), (true, false), (false, true), (false, false)] {
        let bed = with_fallbacks();
        bed.configure(|catalog| {
            add_fallbacks(catalog);
            catalog["AgentContexts"]["default"]["DeleteStored"] = json!(of_first);
            catalog["AgentContexts"]["spare"]["DeleteStored"] = json!(of_spare);
        });
        bed.post(&turn("t1", "One [plan: server]")).final_text();
        bed.world.model.spoil_after(0, down());
        bed.post(&turn("t2", "Two [plan: server, server]")).final_text();
        assert_eq!((bed.world.model.stored(), bed.world.spare.stored()), (2, 3));
        let heard = bed.try_erase().unwrap();
        let counts = &heard.result()["StoredResponses"];
        let expected = if of_first { 2 } else { 0 } + if of_spare { 3 } else { 0 };
        assert_eq!(counts["Deleted"].as_u64().unwrap_or(0), expected, "{}", heard.text);
        assert_eq!(counts.is_null(), expected == 0);
        let left = (bed.world.model.stored(), bed.world.spare.stored());
        assert_eq!(left, (if of_first { 0 } else { 2 }, if of_spare { 0 } else { 3 }));
    }
}

#[test]
fn a_session_that_went_on_under_another_agent_context_is_erased_at_the_services_of_both() {
    for (of_first, of_spare) in [(true, true), (true, false), (false, true), (false, false)] {
        let bed = with_fallbacks();
        let put = |leads: bool| {
            bed.configure(|catalog| {
                add_fallbacks(catalog);
                for (context, deletes) in [("default", of_first), ("spare", of_spare)] {
                    catalog["AgentContexts"][context]["DeleteStored"] = json!(deletes);
                }
                catalog["AgentContexts"]["default"].as_object_mut().unwrap().remove("Fallbacks");
                let mut other = catalog["ConversationContexts"]["default"].clone();
                other["AgentContextId"] = json!("spare");
                catalog["ConversationContexts"]["other"] = other;
                if leads {
                    catalog["ConversationContexts"]["default"]["Instead"] = json!("other");
                }
            });
        };
        put(false);
        bed.post(&turn("t1", "One [plan: server]")).final_text();
        put(true);
        bed.post(&turn("t2", "Two [plan: server, server]")).final_text();
        assert_eq!((bed.world.model.stored(), bed.world.spare.stored()), (2, 3));
        let heard = bed.try_erase().unwrap();
        let expected = if of_first { 2 } else { 0 } + if of_spare { 3 } else { 0 };
        let counts = &heard.result()["StoredResponses"];
        assert_eq!(counts["Deleted"].as_u64().unwrap_or(0), expected, "{}", heard.text);
        assert_eq!(counts["Unreachable"].as_u64().unwrap_or(0), 0, "{}", heard.text);
        let left = (bed.world.model.stored(), bed.world.spare.stored());
        assert_eq!(left, (if of_first { 0 } else { 2 }, if of_spare { 0 } else { 3 }));
    }
}

#[test]
fn a_service_that_is_gone_from_the_catalog_is_unreachable_and_the_others_are_asked() {
    let bed = with_fallbacks();
    let delete = |catalog: &mut Value| {
        add_fallbacks(catalog);
        for context in ["default", "spare"] {
            catalog["AgentContexts"][context]["DeleteStored"] = json!(true);
        }
    };
    bed.configure(delete);
    bed.post(&turn("t1", "One")).final_text();
    bed.world.model.spoil_after(0, down());
    bed.post(&turn("t2", "Two")).final_text();
    bed.configure(|catalog| {
        delete(catalog);
        let agents = catalog["AgentContexts"].as_object_mut().unwrap();
        agents.remove("spare");
        for context in ["default", "replay", "frugal"] {
            agents[context]["Fallbacks"] = json!(["third"]);
        }
    });
    let heard = bed.try_erase().unwrap();
    let counts = &heard.result()["StoredResponses"];
    assert_eq!(
        (&counts["Deleted"], &counts["Unreachable"]),
        (&json!(1), &json!(1)),
        "{}",
        heard.text
    );
}

#[test]
fn a_service_that_is_no_fall_back_any_more_is_asked_to_delete_what_it_made() {
    for is_gone in [false, true] {
        let bed = with_fallbacks();
        let delete = |catalog: &mut Value| {
            add_fallbacks(catalog);
            catalog["AgentContexts"]["spare"]["DeleteStored"] = json!(true);
        };
        bed.configure(delete);
        bed.world.model.spoil_after(0, down());
        bed.post(&turn("t1", "One")).final_text();
        bed.configure(|catalog| {
            delete(catalog);
            let agents = catalog["AgentContexts"].as_object_mut().unwrap();
            for context in ["default", "replay", "frugal"] {
                agents[context]["Fallbacks"] = json!(["third"]);
            }
            if is_gone {
                agents.remove("spare");
            }
        });
        let heard = bed.try_erase().unwrap();
        let counted = if is_gone { "Unreachable" } else { "Deleted" };
        assert_eq!(heard.result()["StoredResponses"][counted], 1, "{}", heard.text);
        assert_eq!(bed.world.spare.stored(), usize::from(is_gone));
    }
}

#[test]
fn a_fork_has_the_chain_of_the_service_that_its_last_turn_was_answered_by() {
    let bed = with_fallbacks();
    let of = |id: &str, words: &str| with(turn(id, words), json!({ "SessionId": "p" }));
    bed.post(&of("t1", "One")).final_text();
    bed.world.model.spoil_after(0, down());
    bed.post(&of("t2", "Two")).final_text();
    bed.post(&of("t3", "Three")).final_text();
    for (fork, last) in [("f1", "t1"), ("f2", "t2"), ("f3", "t3")] {
        let request = json!({ "SessionId": fork, "AfterTurnId": last });
        let heard = bed.asked("POST", "/sessions/p/fork", &request.to_string());
        assert_eq!(heard.status, 201, "{}", heard.text);
        let next = with(turn("n", "Next"), json!({ "SessionId": fork }));
        assert_eq!(bed.post(&next).final_text(), "Answer to Next.");
        // The first service rests, so each goes on at the other one, by a chain where that has one.
        let continued = bed.world.spare.bodies().pop().unwrap()["previous_response_id"].is_string();
        assert_eq!(continued, last != "t1", "{fork}");
    }
    for service in [&bed.world.model, &bed.world.spare] {
        assert_eq!(service.refusals(), Vec::<String>::new());
    }
}

#[test]
fn a_failed_turn_begins_at_the_first_service_again_in_a_fork_under_another_agent_context() {
    let bed = with_fallbacks();
    bed.deploy("FALLBACK_REST_MS", "0");
    bed.world.model.spoil_once_after(0, http_error(402, json!({}), &[]));
    bed.world.spare.spoil_after(1, http_error(401, json!({}), &[]));
    let of = |id: &str| with(turn("t1", "One [plan: server]"), json!({ "SessionId": id }));
    assert_eq!(bed.post(&of("p")).failure(), (502, "upstream_rejected"));
    bed.world.spare.mend();
    for (fork, context, asked) in [("same", "default", 1), ("other", "replay", 2)] {
        let body = json!({ "SessionId": fork, "ConversationContextId": context });
        let made = bed.asked("POST", "/sessions/p/fork", &body.to_string());
        assert_eq!(made.status, 201, "{}", made.text);
        assert_eq!(bed.post(&of(fork)).final_text(), "Answer to One.");
        assert_eq!(bed.world.model.requests(), asked, "{fork}");
    }
    for service in [&bed.world.model, &bed.world.spare] {
        assert_eq!(service.refusals(), Vec::<String>::new());
    }
}

#[test]
fn an_outage_of_all_services_costs_a_session_nothing_of_what_it_knows() {
    let bed = with_fallbacks();
    let services = [&bed.world.model, &bed.world.spare, &bed.world.third];
    bed.post(&turn("t1", "One [plan: server]")).final_text();
    services.iter().for_each(|service| service.spoil_after(0, down()));
    assert_eq!(bed.post(&turn("t2", "Two")).failure(), (502, "upstream_unavailable"));
    services.iter().for_each(|service| service.mend());
    mend(&bed);
    assert_eq!(bed.post(&turn("t3", "Three")).final_text(), "Answer to Three.");
    let sent = bed.world.model.bodies().pop().unwrap();
    assert!(sent["previous_response_id"].is_string(), "{sent}");
    assert_eq!(sent["input"].as_array().unwrap().len(), 2, "{sent}");
    assert_replays(&bed, "an outage");
}

#[test]
fn an_interrupt_of_a_call_at_another_service_costs_a_session_nothing_of_what_it_knows() {
    let bed = with_fallbacks();
    bed.deploy("FALLBACK_REST_MS", "0");
    bed.post(&turn("t1", "One [plan: server]")).final_text();
    bed.world.model.spoil_after(0, down());
    bed.world.spare.script([say("A long answer.").paced(1_000).into()]);
    let pending = bed.send(&turn("t2", "Two"));
    bed.run_until(|bed| bed.world.spare.requests() == 1, "the other service is called");
    bed.world.model.mend();
    let interrupting = with(steer("s1", "Rather this."), json!({ "Interrupt": true }));
    assert_eq!(bed.steer("t2", &interrupting).status, 202);
    bed.wait(&pending).unwrap().final_text();
    assert_eq!(bed.world.spare.requests(), 1);
    let sent = bed.world.model.bodies().pop().unwrap();
    assert!(sent["previous_response_id"].is_string(), "{sent}");
    assert_eq!(sent["input"].as_array().unwrap().len(), 2, "{sent}");
}
