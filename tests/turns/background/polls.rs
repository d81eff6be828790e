//! A service that does not stream a response again, or no longer: it is asked for the response until that has ended.

use super::*;

const MINUTE: u64 = 60_000;

/// The times of the requests to read a response since the connection was cut, in milliseconds.
fn asked_at(bed: &Bed, request: &Value) -> (Heard, Vec<u64>) {
    let (times, mut known) = (std::cell::RefCell::new(Vec::new()), 0);
    let pending = bed.send(request);
    while pending.heard().is_none() {
        assert!(bed.step(), "the turn never ends");
        let count = reads(bed).len();
        if count > known {
            times.borrow_mut().push(bed.world.executor.now_ms());
            known = count;
        }
    }
    (pending.heard().unwrap(), times.into_inner())
}

#[test]
fn a_response_that_cannot_be_streamed_again_is_asked_for_until_it_has_ended() {
    for denial in [400, 404, 405] {
        let bed = in_background();
        bed.world.model.script([long().paced(2_000).breaks_after(6).into()]);
        bed.world.model.background.script([ReadAgain::Reply(http_error(denial, json!({}), &[]))]);
        let request = with(turn("t1", "Hello"), json!({ "Streaming": true }));
        let (heard, times) = asked_at(&bed, &request);
        assert_eq!(heard.final_text(), "One two three four five six.", "{denial}");
        assert_eq!(kept(&heard), heard.final_text());
        assert!(!heard.frames.unwrap().contains("discard"));
        let read = reads(&bed);
        assert_eq!(read[0], "stream after 5");
        assert!(read[1..].iter().all(|read| read == "object"), "{read:?}");
        let waits: Vec<u64> = times.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 10_000][..waits.len()], "{denial}");
        assert_eq!((bed.world.model.requests(), cancels(&bed).len()), (1, 0));
        assert_eq!(bed.turn("t1").result()["Usage"]["TotalTokens"], USAGE);
        // The requests after the first poll are no news.
        assert_eq!(model_calls(&bed, "t1")[0]["Resumed"], 2);
        assert_settled(&bed);
    }
}

#[test]
fn after_five_minutes_no_stream_is_asked_for() {
    for crashes in [false, true] {
        let bed = in_background();
        let cut = if crashes {
            long().paced(MINUTE).silent_after(3)
        } else {
            long().paced(MINUTE).breaks_after(7)
        };
        bed.world.model.script([cut.into()]);
        bed.deploy("TURN_TIMEOUT_MS", "3600000");
        bed.deploy("UPSTREAM_IDLE_TIMEOUT_MS", "3600000");
        let request = turn("t1", "Hello");
        let pending = bed.send(&request);
        if crashes {
            bed.run_until(
                |bed| {
                    bed.disk.read("SELECT 1 FROM turns WHERE progress LIKE '%pending%'").len() == 1
                },
                "the id is durable",
            );
            bed.restart();
            bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 6 * MINUTE);
        }
        let heard = if crashes { bed.post(&request) } else { bed.wait(&pending).unwrap() };
        assert_eq!(heard.final_text(), "One two three four five six.");
        let read = reads(&bed);
        assert!(!read.is_empty() && read.iter().all(|read| read == "object"), "{read:?}");
        assert_eq!((bed.world.model.requests(), cancels(&bed).len()), (1, 0));
        assert_eq!(bed.turn("t1").result()["Attempts"], 1);
        assert_settled(&bed);
    }
}

#[test]
fn a_poll_to_each_terminal_status_ends_the_call_as_its_stream_would() {
    let gone = || ReadAgain::Reply(http_error(404, json!({}), &[]));
    for (answer, expected) in [
        (long(), (200, "")),
        (Answer { ending: Ending::Incomplete("max_output_tokens"), ..long() }, (200, "")),
        (Answer { ending: Ending::Failed("invalid_prompt"), ..long() }, (502, "upstream_failed")),
    ] {
        let bed = in_background();
        bed.world.model.script([answer.breaks_after(4).into()]);
        bed.world.model.background.script([gone()]);
        let heard = bed.post(&turn("t1", "Hello"));
        assert_eq!(heard.failure(), expected);
        if expected.0 == 200 {
            assert_eq!(heard.final_text(), "One two three four five six.");
        }
        assert_eq!((bed.world.model.requests(), cancels(&bed).len()), (1, 0));
        assert_settled(&bed);
    }
    // Somebody cancels it at the service.
    let bed = in_background();
    bed.world.model.script([long().breaks_after(4).into()]);
    let cancelled = json!({ "id": "resp_1", "status": "cancelled", "output": [] }).to_string();
    let cancelled = Reply::Http(HttpReply::new(200, &cancelled));
    bed.world.model.background.script([gone(), ReadAgain::Reply(cancelled)]);
    assert_eq!(bed.post(&turn("t1", "Hello")).failure(), (502, "upstream_failed"));
    assert_settled(&bed);
}

#[test]
fn a_response_that_the_service_has_lost_is_made_again_where_no_client_has_its_text() {
    for (streamed, expected) in [(false, (200, "")), (true, (502, "upstream_unavailable"))] {
        let bed = in_background();
        bed.world.model.script([long().breaks_after(7).into(), long().into()]);
        bed.world.model.background.loses.set(true);
        let request = with(turn("t1", "Hello"), json!({ "Streaming": streamed }));
        let heard = bed.post(&request);
        assert_eq!(heard.failure(), expected, "{streamed}");
        assert_eq!(reads(&bed), ["stream after 6", "object"]);
        let [call] = &model_calls(&bed, "t1")[..] else { panic!("other calls") };
        if !streamed {
            assert_eq!(heard.final_text(), "One two three four five six.");
            assert_eq!(call["Retries"][0]["ResponseId"], "resp_1");
            assert_eq!(call["ResponseId"], "resp_2");
        }
        assert_settled(&bed);
        assert_eq!(cancels(&bed), Vec::<String>::new());
    }
}

#[test]
fn a_service_that_falls_silent_is_asked_whether_the_response_goes_on() {
    let bed = in_background();
    bed.deploy("UPSTREAM_IDLE_TIMEOUT_MS", "5000");
    bed.world.model.script([long().paced(2_000).silent_after(4).into()]);
    bed.world.model.background.script([ReadAgain::Silent(0)]);
    let heard = bed.post(&turn("t1", "Hello"));
    assert_eq!(heard.final_text(), "One two three four five six.");
    assert_eq!(reads(&bed)[..2], ["stream after 3", "object"]);
    assert_eq!((bed.world.model.requests(), cancels(&bed).len()), (1, 0));
}

#[test]
fn a_service_that_does_not_stream_at_all_is_asked_for_its_queued_response() {
    let bed = in_background();
    let queued = json!({ "id": "resp_9", "object": "response", "status": "queued", "output": [], "usage": null });
    let done = json!({
        "id": "resp_9", "object": "response", "status": "completed",
        "output": [{ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Done." }] }],
        "usage": { "input_tokens": 1, "output_tokens": 2, "total_tokens": 3 },
    });
    let object =
        |value: &Value| ReadAgain::Reply(Reply::Http(HttpReply::new(200, &value.to_string())));
    bed.world.model.script([Reply::Http(HttpReply::new(200, &queued.to_string()))]);
    bed.world.model.background.script([object(&queued), object(&done)]);
    let heard = bed.post(&with(turn("t1", "Hello"), json!({ "Streaming": true })));
    assert_eq!((heard.final_text(), kept(&heard).as_str()), ("Done.", "Done."));
    assert_eq!(reads(&bed), ["object", "object"]);
    assert_eq!(bed.turn("t1").result()["Usage"]["TotalTokens"], 3);
}

#[test]
fn a_response_that_comes_in_one_piece_where_its_rest_was_asked_for_adds_the_rest_alone() {
    for (id, expected) in [("resp_1", (200, "")), ("resp_another", (502, "upstream_protocol"))] {
        let bed = in_background();
        bed.world.model.script([long().breaks_after(7).into()]);
        let text = "One two three four five six.";
        let whole = json!({
            "id": id, "object": "response", "status": "completed",
            "output": [{ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] }],
            "usage": { "input_tokens": 1, "output_tokens": 2, "total_tokens": 3 },
        });
        let whole = Reply::Http(HttpReply::new(200, &whole.to_string()));
        bed.world.model.background.script([ReadAgain::Reply(whole)]);
        let heard = bed.post(&with(turn("t1", "Hello"), json!({ "Streaming": true })));
        assert_eq!(heard.failure(), expected, "{id}");
        if expected.0 == 200 {
            assert_eq!((heard.final_text(), kept(&heard).as_str()), (text, text));
        }
        assert!(!heard.frames.unwrap().contains("discard"));
        assert_eq!(reads(&bed), ["stream after 6"]);
        bed.settle();
        assert_settled(&bed);
    }
}
