//! What clients, operators and the trace are told of a fall-back.

use aptix_edge::live_text::Position;

use super::*;

const TEXT: &str = "Größer wird’s nicht: 😀.";

#[test]
fn every_form_of_an_answer_has_the_warning_and_is_the_same() {
    let request = |streaming: bool| {
        with(turn("t1", "One [plan: server, client]"), json!({ "Streaming": streaming }))
    };
    let run = |streaming: bool| {
        let bed = with_fallbacks();
        bed.world.model.spoil_after(0, down());
        let asked = bed.post(&request(streaming));
        assert_eq!(warnings(&asked), ["fallback_used"]);
        let ids = asked.calls();
        let answer = results("t1", &[(&ids[0], json!(1))]);
        bed.world.spare.script([say(TEXT).in_chunks_of(3).paced(1).into()]);
        (bed.post(&answer), answer, bed)
    };
    let (whole, _, _) = run(false);
    let (streamed, answer, bed) = run(true);
    assert_eq!(warnings(&whole), ["fallback_used"]);
    assert_eq!(streamed.text, whole.text);
    assert_eq!(bed.turn("t1").result()["Outcome"], whole.body);
    let again = bed.post(&answer);
    assert_eq!((again.replayed, &again.text), (true, &whole.text));
    let frames = streamed.frames.unwrap();
    let kept = watched(&frames);
    assert_eq!(kept.0, TEXT);
    // A reader who was cut off keeps whole events alone, so a cut at any byte is one behind an event.
    for restarted in [false, true] {
        if restarted {
            bed.restart();
        }
        for cut in 0..frames.len() {
            let whole_events = frames.get(..cut).and_then(|head| head.rfind("\n\n"));
            let head = whole_events.map_or("", |end| &frames[..end + 2]);
            if cut > 0 && head.len() != cut {
                continue;
            }
            let mut ids = head.lines().filter_map(|line| line.strip_prefix("id: "));
            let position = ids.next_back().and_then(Position::parse);
            let rest = bed.wait(&bed.attach("t1", position)).unwrap();
            let rest = rest.frames.unwrap_or_default();
            assert_eq!(watched(&format!("{head}{rest}")), kept, "cut at {cut}");
        }
    }
    for text in [&whole.text, &bed.turn("t1").text] {
        assert!(!text.contains("spare"), "{text}");
    }
}

#[test]
fn a_result_behind_a_fall_back_has_the_warning_also_where_the_turn_fails_or_is_cancelled() {
    let bed = with_fallbacks();
    bed.world.model.spoil_after(0, down());
    bed.world.spare.spoil_after(1, http_error(401, json!({}), &[]));
    let ids = bed.post(&turn("t1", "One [plan: client, server]")).calls();
    let failed = bed.post(&results("t1", &[(&ids[0], json!(1))]));
    assert_eq!(failed.failure(), (502, "upstream_rejected"));
    assert_eq!(warnings(&failed), ["fallback_used"]);
    assert_eq!(bed.turn("t1").result()["Outcome"], failed.body);
    let bed = with_fallbacks();
    bed.world.model.spoil_after(0, down());
    bed.post(&turn("t1", "One [plan: client]")).calls();
    bed.try_cancel("t1").unwrap();
    let view = bed.turn("t1");
    let outcome = &view.result()["Outcome"];
    assert_eq!(outcome["Errors"][0]["ErrorCode"], "turn_aborted");
    assert_eq!(outcome["Warnings"][0]["ErrorCode"], "fallback_used");
}

#[test]
fn progress_tells_of_another_service_without_its_name() {
    let bed = with_fallbacks();
    bed.world.model.spoil_after(0, http_error(402, json!({}), &[]));
    let request = with(turn("t1", "One"), json!({ "Streaming": true }));
    let heard = bed.wait(&bed.ask("POST", "/execute?Progress=true", &[], &request.to_string()));
    let frames = heard.unwrap().frames.unwrap();
    let told = r#"{"Kind":"retry","AfterMs":0,"Fallback":true}"#;
    assert_eq!(frames.matches(told).count(), 1, "{frames}");
    assert!(!frames.contains("spare"));
}

#[test]
fn where_all_have_failed_the_first_failure_is_told_with_all_attempts_and_the_shortest_wait() {
    let bed = with_fallbacks();
    let busy = |seconds: &str| {
        http_error(429, json!({ "code": "rate_limit_exceeded" }), &[("retry-after", seconds)])
    };
    bed.world.model.spoil_after(0, busy("90"));
    bed.world.spare.spoil_after(0, busy("7"));
    bed.world.third.spoil_after(0, down());
    let heard = bed.post(&turn("t1", "One"));
    assert_eq!(heard.failure(), (502, "upstream_unavailable"));
    let details = heard.details();
    assert_eq!(
        (&details["HttpStatus"], &details["Code"]),
        (&json!(429), &json!("rate_limit_exceeded"))
    );
    assert_eq!((&details["Attempts"], &details["Fallbacks"]), (&json!(5), &json!(2)));
    assert_eq!(details["RetryAfterMs"], 7_000);
    assert_eq!(heard.headers["Retry-After"], "7");
    assert!(!heard.text.contains("spare") && !heard.text.contains("third"));
    assert_eq!(services(&bed, "t1"), ["third [default spare third third]"]);
    // A failure that moves nothing on is told as it is.
    let bed = with_fallbacks();
    bed.world.model.spoil_after(0, down());
    bed.world.spare.spoil_after(0, http_error(401, json!({ "code": "invalid_api_key" }), &[]));
    let heard = bed.post(&turn("t1", "One"));
    assert_eq!(heard.failure(), (502, "upstream_rejected"));
    let details = heard.details();
    assert_eq!((&details["HttpStatus"], &details["Attempts"]), (&json!(401), &json!(3)));
    assert_eq!(details["Fallbacks"], 1);
    assert_eq!(bed.world.third.requests(), 0);
}

#[test]
fn a_call_that_no_service_could_take_over_is_counted_as_the_trace_lists_it() {
    let bed = with_fallbacks();
    bed.configure(|catalog| {
        add_fallbacks(catalog);
        // A header whose secret is not set: no call is made there.
        catalog["AgentContexts"]["spare"]["Headers"] = json!({ "X-Key": "${SPARE_KEY}" });
    });
    bed.world.metered.replace(Some(Vec::new()));
    bed.world.model.spoil_after(0, down());
    assert_eq!(bed.post(&turn("t1", "One")).failure(), (500, "internal"));
    assert_eq!(services(&bed, "t1"), ["default [default]"]);
    let log = bed.world.log.borrow();
    let line = log.iter().find(|line| line["event"] == "submission").unwrap();
    let report = &line["report"];
    assert_eq!((&report["model_calls"], &report["retries"]), (&json!(1), &json!(1)));
    let points = bed.world.metered.borrow();
    let points: Vec<_> = points.iter().flatten().collect();
    assert_eq!((points.len(), points[0].doubles[5]), (1, 1.0));
}

#[test]
fn trace_log_metering_and_spans_say_who_answered() {
    let bed = with_fallbacks();
    bed.world.metered.replace(Some(Vec::new()));
    bed.world.spans.are_heard.set(true);
    bed.post(&turn("t1", "One [plan: server]")).final_text();
    assert_eq!(services(&bed, "t1"), ["default", "default"]);
    bed.world.model.spoil_after(1, down());
    bed.post(&turn("t2", "Two [plan: server, server]")).final_text();
    assert_eq!(services(&bed, "t2"), ["default", "spare [default default]", "spare"]);
    let usage: u64 = model_calls(&bed, "t2")
        .iter()
        .filter_map(|call| call["Usage"]["TotalTokens"].as_u64())
        .sum();
    assert_eq!(bed.turn("t2").result()["Outcome"]["Result"]["Usage"]["TotalTokens"], usage);
    bed.post(&turn("t3", "Three")).final_text();
    let log = bed.world.log.borrow();
    let lines: Vec<&Value> = log.iter().filter(|line| line["event"] == "fallback").collect();
    assert_eq!(lines.len(), 1);
    let line = lines[0];
    assert_eq!(
        (&line["level"], &line["agent_context"], &line["to"]),
        (&json!("warn"), &json!("default"), &json!("spare"))
    );
    assert_eq!(line["code"], "upstream_unavailable");
    let reports: Vec<&Value> = log.iter().filter(|line| line["event"] == "submission").collect();
    let fallbacks: Vec<&Value> = reports.iter().map(|line| &line["report"]["fallbacks"]).collect();
    assert_eq!(fallbacks, [&Value::Null, &json!(1), &Value::Null]);
    let counts: Vec<&Value> = reports.iter().map(|line| &line["report"]["model_calls"]).collect();
    assert_eq!(counts, [&json!(2), &json!(3), &json!(1)]);
    assert_eq!(reports[1]["report"]["retries"], 2);
    let models: Vec<&Value> = reports.iter().map(|line| &line["model"]).collect();
    assert_eq!(models, [&json!("m"), &json!("spare"), &json!("spare")]);
    drop(log);
    // The spans of the three turns: one of the first service that failed, those of the other one that took over.
    let chats = bed.world.spans.named("chat spare");
    assert_eq!(chats.len(), 3);
    assert!(chats.iter().all(|chat| chat["aptix.fallback_from"] == "default"), "{chats:?}");
    assert!(chats.iter().all(|chat| chat["server.address"] == "spare.example"));
    let failed = bed.world.spans.named("chat m");
    assert_eq!(failed.iter().filter(|chat| chat["error.type"] == "503").count(), 1);
    assert!(failed.iter().all(|chat| chat.get("aptix.fallback_from").is_none()));
    let points = bed.world.metered.borrow();
    let models: Vec<&str> =
        points.as_ref().unwrap().iter().map(|point| point.blobs[2].as_str()).collect();
    assert_eq!(models, ["m", "spare", "spare"]);
}

#[test]
fn log_and_metering_name_the_model_of_a_submission_that_calls_none() {
    let bed = with_fallbacks();
    bed.configure(|catalog| {
        add_fallbacks(catalog);
        catalog["ServerTools"][0]["Approval"] = json!("Always");
    });
    bed.world.metered.replace(Some(Vec::new()));
    bed.world.model.spoil_after(0, down());
    let paused = bed.post(&turn("t1", "One [plan: server]"));
    bed.world.tools.think(|_| ToolAnswer::Status(500));
    let decision = results("t1", &[(&paused.calls()[0], json!({ "Approved": true }))]);
    assert_eq!(bed.post(&decision).failure(), (500, "server_tool_failed"));
    let log = bed.world.log.borrow();
    let lines = log.iter().filter(|line| line["event"] == "submission");
    assert_eq!(lines.map(|line| &line["model"]).collect::<Vec<_>>(), ["spare", "spare"]);
    let points = bed.world.metered.borrow();
    let models: Vec<&str> =
        points.as_ref().unwrap().iter().map(|point| point.blobs[2].as_str()).collect();
    assert_eq!(models, ["spare", "spare"]);
}

#[test]
fn a_fall_back_is_no_iteration_and_budgets_hold_for_all_services() {
    let bed = with_fallbacks();
    bed.configure(|catalog| {
        add_fallbacks(catalog);
        catalog["AgentContexts"]["default"]["MaxIterations"] = json!(2);
        catalog["AgentContexts"]["default"]["Budget"] = json!({ "TurnTokens": 100 });
    });
    bed.world.model.spoil_after(0, down());
    bed.post(&turn("t1", "One")).final_text();
    let mut failing = Answer { ending: Ending::Failed("server_error"), ..says(Vec::new()) };
    failing.failing_usage = true;
    bed.deploy("FALLBACK_REST_MS", "0");
    bed.world.model.spoil_after(0, failing.into());
    let heard = bed.post(&turn("t2", "Two"));
    assert_eq!(heard.failure(), (403, "budget_exceeded"));
    assert_eq!(bed.world.spare.requests(), 1);
    let calls = model_calls(&bed, "t2");
    assert_eq!(calls.len(), 1);
    assert_eq!(bed.turn("t2").result()["Usage"]["TotalTokens"], calls[0]["Usage"]["TotalTokens"]);
}
