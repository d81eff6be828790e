//! A connection that breaks while the instance lives: the same response is read on behind the newest event.

use super::*;

fn streamed() -> Value {
    with(turn("t1", "Hello"), json!({ "Streaming": true }))
}

/// What a turn looks like that was not cut.
fn uncut(request: &Value) -> (String, Value) {
    let bed = in_background();
    bed.world.model.script([long().into()]);
    let heard = bed.post(request);
    assert_eq!(reads(&bed), Vec::<String>::new());
    (heard.text.clone(), bed.turn("t1").result()["Usage"].clone())
}

#[test]
fn a_response_that_is_cut_behind_any_event_is_read_on_and_paid_once() {
    for request in [streamed(), turn("t1", "Hello")] {
        let (expected, usage) = uncut(&request);
        for cut in 1..EVENTS {
            for broken in [true, false] {
                let what = format!("cut behind {cut} events, broken: {broken}");
                let bed = in_background();
                let answer = if broken { long().breaks_after(cut) } else { long().ends_after(cut) };
                bed.world.model.script([answer.into()]);
                let heard = bed.post(&request);
                assert_eq!(heard.text, expected, "{what}");
                if let Some(frames) = &heard.frames {
                    assert_eq!(kept(&heard), "One two three four five six.", "{what}");
                    assert!(!frames.contains("output_text.discard"), "{what}: {frames}");
                }
                assert_eq!((bed.world.model.requests(), bed.world.model.background.made()), (1, 1));
                assert_eq!(reads(&bed), [format!("stream after {}", cut - 1)], "{what}");
                assert_eq!(bed.turn("t1").result()["Usage"], usage, "{what}");
                let [call] = &model_calls(&bed, "t1")[..] else { panic!("{what}: other calls") };
                assert_eq!((&call["Resumed"], &call["Background"]), (&json!(1), &json!(true)));
                assert_eq!(call["Retries"], json!([]), "{what}");
                assert_eq!(bed.turn("t1").result()["Attempts"], 1);
                assert_eq!(cancels(&bed), Vec::<String>::new());
                assert_settled(&bed);
                // The chain goes on from the response.
                bed.post(&turn("t2", "Two")).final_text();
                assert_eq!(bed.world.model.bodies()[1]["previous_response_id"], call["ResponseId"]);
                bed.assert_chain_held();
            }
        }
    }
}

#[test]
fn each_call_of_a_turn_is_read_on_by_itself_and_its_tools_run_once() {
    let bed = in_background();
    let cut = |answer: Answer| Reply::from(answer.breaks_after(4));
    let call_of = |name: &str| says(vec![call(name, json!({ "of": "x" }))]);
    bed.world.model.script([cut(call_of("lookup")), cut(call_of("lookup")), cut(long())]);
    assert_eq!(bed.post(&turn("t1", "Look")).final_text(), "One two three four five six.");
    assert_eq!(bed.world.model.requests(), 3);
    assert!(bed.world.tools.executions().values().all(|times| *times == 1));
    assert_eq!(bed.turn("t1").result()["Usage"]["TotalTokens"], 3 * USAGE);
    assert_settled(&bed);
    bed.assert_chain_held();
}

#[test]
fn the_waits_grow_are_honoured_as_the_service_asks_and_begin_anew_after_each_event() {
    let bed = in_background();
    let breaks = |events| ReadAgain::Breaks(events);
    let busy = http_error(503, json!({}), &[("retry-after", "20")]);
    bed.world.model.script([long().breaks_after(3).into()]);
    bed.world.model.background.script([
        breaks(0),
        breaks(0),
        ReadAgain::Reply(busy),
        ReadAgain::Reply(Reply::Unreachable),
        breaks(2),
        breaks(0),
    ]);
    let asked = bed.ask("POST", "/execute?Progress=true", &[], &streamed().to_string());
    let began = bed.world.executor.now_ms();
    let heard = bed.wait(&asked).unwrap();
    assert_eq!(kept(&heard), "One two three four five six.");
    let frames = heard.frames.unwrap();
    let retries: Vec<Value> = frames
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str::<Value>(data).unwrap())
        .filter(|data| data["Kind"] == "retry")
        .collect();
    // The service has asked for 20 s, and gets up to a quarter more.
    let asked_for = retries[3]["AfterMs"].as_u64().unwrap();
    assert!((20_000..25_000).contains(&asked_for), "{asked_for}");
    let waits = [200, 1_000, 3_000, asked_for, 27_000, 200, 1_000];
    let expected: Vec<Value> = (1..)
        .zip(waits)
        .map(|(resumed, after)| json!({ "Kind": "retry", "AfterMs": after, "Resumed": resumed }))
        .collect();
    assert_eq!(retries, expected);
    assert_eq!(bed.world.executor.now_ms() - began, waits.iter().sum::<u64>());
    assert_eq!(model_calls(&bed, "t1")[0]["Resumed"], waits.len());
    assert_eq!(
        (bed.world.model.requests(), bed.turn("t1").result()["Usage"]["TotalTokens"].clone()),
        (1, json!(USAGE))
    );
}

#[test]
fn a_service_that_asks_for_a_moment_each_time_is_asked_for_as_long_as_another() {
    let bed = in_background();
    let busy = http_error(503, json!({}), &[("retry-after-ms", "20")]);
    bed.world.model.script([long().breaks_after(3).into()]);
    bed.world.model.background.script(vec![ReadAgain::Reply(busy); 9]);
    let began = bed.world.executor.now_ms();
    assert_eq!(bed.post(&turn("t1", "Hello")).final_text(), "One two three four five six.");
    let waits = [200, 1_000, 3_000, 9_000, 27_000, 1_000, 2_000, 4_000, 8_000, 10_000];
    let (took, least) = (bed.world.executor.now_ms() - began, waits.iter().sum::<u64>());
    assert!((least..least + least / 4).contains(&took), "{took}");
    assert_eq!((bed.world.model.requests(), reads(&bed).len()), (1, waits.len()));
}

#[test]
fn events_that_come_again_count_once_and_missing_ones_are_asked_for() {
    for (script, expected) in [
        (vec![ReadAgain::Repeats(3)], vec!["stream after 5"]),
        (vec![ReadAgain::Repeats(6)], vec!["stream after 5"]),
        // A gap is asked for once more; a service that leaves the same events out again counts so.
        (vec![ReadAgain::LeavesOut(2)], vec!["stream after 5", "stream after 5"]),
        (
            vec![ReadAgain::LeavesOut(2), ReadAgain::LeavesOut(2)],
            vec!["stream after 5", "stream after 5"],
        ),
    ] {
        let bed = in_background();
        bed.world.model.script([long().breaks_after(6).into()]);
        bed.world.model.background.script(script.clone());
        let heard = bed.post(&streamed());
        assert_eq!(heard.final_text(), "One two three four five six.", "{script:?}");
        assert_eq!(kept(&heard), heard.final_text(), "{script:?}");
        assert_eq!(reads(&bed), expected, "{script:?}");
        assert_eq!(bed.world.model.requests(), 1);
    }
}

#[test]
fn the_events_of_another_response_fail_the_turn_and_the_own_response_is_cancelled() {
    let bed = in_background();
    bed.world.model.script([long().paced(1_000).breaks_after(3).into()]);
    bed.world.model.background.script([ReadAgain::OfAnother]);
    assert_eq!(bed.post(&turn("t1", "Hello")).failure(), (502, "upstream_protocol"));
    bed.settle();
    assert_eq!(cancels(&bed), ["resp_1"]);
    assert_settled(&bed);
    assert_eq!(bed.post(&turn("t1", "Hello")).final_text(), "Answer to Hello.");
}

#[test]
fn a_service_that_makes_no_background_responses_is_asked_once_in_a_session() {
    for refusal in [
        json!({ "param": "background", "message": "Unknown parameter: 'background'.", "code": "unknown_parameter" }),
        json!({ "message": "Background mode is not supported for this model." }),
    ] {
        let bed = in_background();
        bed.world.model.background.refusal.replace(Some(http_error(400, refusal, &[])));
        bed.post(&turn("t1", "One")).final_text();
        bed.restart();
        bed.post(&turn("t2", "Two")).final_text();
        let asked: Vec<bool> =
            bed.world.model.bodies().iter().map(|body| body["background"] == true).collect();
        assert_eq!(asked, [true, false, false]);
        let [refused, without] = &model_calls(&bed, "t1")[..] else { panic!("other calls") };
        assert_eq!(refused["Unsupported"], Value::Null);
        for call in [without, &model_calls(&bed, "t2")[0]] {
            assert_eq!(
                (&call["Unsupported"], &call["Background"]),
                (&json!("background"), &Value::Null)
            );
        }
        assert_settled(&bed);
    }
}

#[test]
fn a_session_whose_service_stores_nothing_asks_for_nothing_in_the_background() {
    let bed = in_background();
    bed.world.model.refuse_storage(http_error(400, json!({ "param": "store" }), &[]));
    bed.post(&turn("t1", "One")).final_text();
    let asked: Vec<bool> =
        bed.world.model.bodies().iter().map(|body| body["background"] == true).collect();
    assert_eq!(asked, [true, false]);
    assert_eq!(model_calls(&bed, "t1")[1]["Unsupported"], Value::Null);
}

#[test]
fn a_failure_of_the_response_is_repeated_as_any_other() {
    let bed = in_background();
    bed.world.model.script([failed("server_error"), long().into()]);
    assert_eq!(bed.post(&turn("t1", "Hello")).final_text(), "One two three four five six.");
    assert_eq!((bed.world.model.requests(), reads(&bed).len()), (2, 0));
    assert_eq!(cancels(&bed), Vec::<String>::new());
    assert_settled(&bed);
}

#[test]
fn a_service_that_cannot_be_reached_for_long_leaves_the_response_to_a_repeat_of_the_turn() {
    for fault in [Reply::Unreachable, http_error(401, json!({ "code": "invalid_api_key" }), &[])] {
        let bed = in_background();
        bed.world.model.script([long().paced(10).breaks_after(6).into()]);
        let times = if matches!(fault, Reply::Unreachable) { 30 } else { 1 };
        bed.world.model.background.script(vec![ReadAgain::Reply(fault.clone()); times]);
        let expected = match fault {
            Reply::Unreachable => (502, "upstream_unavailable"),
            _ => (502, "upstream_rejected"),
        };
        let heard = bed.post(&streamed());
        assert_eq!(heard.failure(), expected);
        let before = reads(&bed).len();
        assert!(times == 1 && before == 1 || before == 10, "{before}");
        bed.world.model.background.drop_script();
        // The text that the client has is not taken back.
        let length = kept(&heard).len();
        let position = aptix_edge::live_text::Position::parse(&format!("0.{length}"));
        let again = bed.wait(&bed.send_from(&streamed(), position)).unwrap();
        assert_eq!(again.final_text(), "One two three four five six.");
        let frames = again.frames.unwrap();
        assert!(!frames.contains("discard"), "{frames}");
        assert!(frames.contains(&again.text) && !frames.contains("\"Delta\":\"One "), "{frames}");
        assert_eq!((bed.world.model.requests(), cancels(&bed).len()), (1, 0));
        assert_eq!(bed.turn("t1").result()["Usage"]["TotalTokens"], USAGE);
        assert_settled(&bed);
        bed.post(&turn("t2", "Two")).final_text();
        bed.assert_chain_held();
    }
}

#[test]
fn a_response_that_waits_for_its_repeat_is_cancelled_once_the_conversation_has_gone_on() {
    let bed = in_background();
    bed.world.model.script([long().paced(100_000).breaks_after(6).into()]);
    let refused = http_error(401, json!({}), &[]);
    bed.world.model.background.script([ReadAgain::Reply(refused)]);
    assert_eq!(bed.post(&turn("t1", "One")).failure(), (502, "upstream_rejected"));
    bed.post(&turn("t2", "Two")).final_text();
    assert_eq!(cancels(&bed), Vec::<String>::new());
    assert_eq!(bed.post(&turn("t1", "One")).final_text(), "Answer to One.");
    bed.settle();
    assert_eq!(cancels(&bed), ["resp_1"]);
    assert_settled(&bed);
    bed.assert_chain_held();
}

#[test]
fn a_steer_without_which_a_response_was_made_that_waits_for_its_repeat_is_told_as_refused() {
    let bed = in_background();
    bed.world.model.script([say("Done.").paced(5).into(), long().paced(10).breaks_after(6).into()]);
    let pending = bed.send(&turn("t1", "One"));
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    let steer = json!({ "SteerId": "s1", "Instruction": "Rather this." });
    assert_eq!(bed.steer("t1", &steer).status, 202);
    bed.world.model.rules.refuse_by(|body, _| {
        let is_bad = body["input"].to_string().contains("Rather this.");
        is_bad.then(|| http_error(400, json!({ "type": "invalid_request_error" }), &[]))
    });
    let denied = http_error(401, json!({ "code": "invalid_api_key" }), &[]);
    bed.world.model.background.script([ReadAgain::Reply(denied)]);
    assert_eq!(bed.wait(&pending).unwrap().failure(), (502, "upstream_rejected"));
    assert_eq!(bed.post(&turn("t1", "One")).final_text(), "One two three four five six.");
    assert_eq!(bed.turn("t1").result()["Steers"][0]["State"], "refused");
    bed.post(&turn("t2", "Two")).final_text();
    bed.assert_chain_held();
}

#[test]
fn a_recorded_response_that_is_cut_behind_any_event_is_read_on_to_its_end() {
    let Some(exchanges) = recorded_exchanges() else { return };
    let recorded = exchanges.iter().find(|exchange| exchange.name.contains("background-mode"));
    let recorded = recorded.expect("the exchange is among the recorded ones");
    let text = String::from_utf8(recorded.body.clone()).unwrap();
    let events: Vec<String> = text
        .split_inclusive("\n\n")
        .map(str::to_owned)
        .filter(|event| event.contains("data:"))
        .collect();
    for cut in 1..events.len() {
        let bed = in_background();
        let asked = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let (log, events) = (std::rc::Rc::clone(&asked), events.clone());
        let piece = |event: &String| Piece::text(event);
        bed.world.player.replace(Some(std::rc::Rc::new(move |request| {
            let after = request.url.split("starting_after=").nth(1);
            log.borrow_mut().push(after.map(str::to_owned));
            let pieces: Vec<Piece> = match after {
                None => events.iter().take(cut).map(piece).chain([Piece::Broken]).collect(),
                Some(after) => {
                    let after: usize = after.parse().unwrap();
                    events.iter().skip(after + 1).map(piece).collect()
                }
            };
            Some(Ok(HttpReply::in_pieces(200, pieces)))
        })));
        let heard = bed.post(&streamed());
        assert_eq!(heard.final_text(), "2 + 2 equals 4.", "cut behind {cut} events");
        assert_eq!(kept(&heard), heard.final_text());
        assert_eq!(*asked.borrow(), [None, Some((cut - 1).to_string())]);
        assert_eq!(bed.turn("t1").result()["Usage"]["TotalTokens"], 24);
    }
}
