//! A crash at every durable step around a fall-back: the turn ends once, with the service that its row names.

use aptix_edge::live_text::Position;

use super::*;

fn services_of_row(bed: &Bed) -> Vec<Value> {
    let rows = bed.disk.read("SELECT progress FROM turns ORDER BY ordinal");
    let progress = |row: &std::collections::BTreeMap<String, Value>| -> Value {
        serde_json::from_str(row["progress"].as_str().unwrap()).unwrap()
    };
    rows.iter().map(|row| progress(row)["service"].clone()).collect()
}

/// Runs a session in which the first service goes down in the second turn, with a crash.
fn run(crash: Option<Crash>, down_after: usize) -> Bed {
    let bed = with_fallbacks_to_crash(crash);
    let post = |request: &Value| {
        bed.try_post(request).unwrap_or_else(|| {
            bed.restart();
            bed.alarm();
            bed.settle();
            bed.post(request)
        })
    };
    post(&turn("t1", "One [plan: server]")).final_text();
    bed.world.model.spoil_after(down_after, down());
    let asked = post(&turn("t2", "Two [plan: server, client, server]"));
    let ids = asked.calls();
    let heard = post(&results("t2", &[(&ids[0], json!(1))]));
    assert_eq!(heard.final_text(), "Answer to Two.");
    assert_eq!(warnings(&heard), ["fallback_used"]);
    bed.settle();
    if !bed.alive() {
        bed.restart();
    }
    bed
}

#[test]
fn a_crash_at_any_step_and_in_any_write_loses_no_result_and_the_turn_goes_on_where_its_row_says() {
    for down_after in 0..4 {
        let whole = run(None, down_after);
        let (steps, writes) = (whole.disk.steps.get(), whole.disk.writes.get());
        assert_eq!(services_of_row(&whole), [Value::Null, json!("spare")]);
        let crashes = (1..=steps).map(Crash::AfterStep).chain((1..=writes).map(Crash::BeforeWrite));
        for crash in crashes {
            let bed = run(Some(crash), down_after);
            let what = format!("down after {down_after}, {crash:?}");
            assert_eq!(services_of_row(&bed), [Value::Null, json!("spare")], "{what}");
            let executions = bed.world.tools.executions();
            let most = executions.values().max().unwrap();
            assert!(*most <= 2, "{what}: {executions:?}");
            for service in [&bed.world.model, &bed.world.spare] {
                assert_eq!(service.refusals(), Vec::<String>::new(), "{what}");
            }
            assert_replays(&bed, &what);
        }
    }
}

#[test]
fn a_turn_stays_with_the_service_that_its_row_names_though_the_first_is_well_again() {
    for fails in [false, true] {
        let bed = with_fallbacks();
        bed.deploy("FALLBACK_REST_MS", "0");
        bed.world.model.spoil_once_after(0, http_error(402, json!({}), &[]));
        if fails {
            // The turn fails at the other service and is repeated.
            bed.world.spare.spoil_after(1, http_error(401, json!({}), &[]));
        }
        let request = turn("t1", "One [plan: client, server]");
        let ids = bed.post(&request).calls();
        let answer = results("t1", &[(&ids[0], json!(1))]);
        bed.restart();
        let mut heard = bed.post(&answer);
        if fails {
            assert_eq!(heard.failure(), (502, "upstream_rejected"));
            bed.world.spare.mend();
            bed.restart();
            heard = bed.post(&answer);
        }
        assert_eq!(heard.final_text(), "Answer to One.");
        assert_eq!(bed.world.model.requests(), 1);
        bed.post(&turn("t2", "Two")).final_text();
        assert_eq!(bed.world.model.requests(), 2);
    }
}

#[test]
fn a_background_response_of_a_service_that_has_left_is_made_again_in_a_segment_of_its_own() {
    let bed = with_fallbacks();
    bed.configure(|catalog| {
        add_fallbacks(catalog);
        catalog["AgentContexts"]["spare"]["Background"] = json!("Always");
    });
    bed.world.model.spoil_after(0, down());
    bed.world.spare.script([say("One two three four five six.").paced(1_000).into()]);
    let request = with(turn("t1", "Hello"), json!({ "Streaming": true }));
    let _ = bed.send(&request);
    bed.run_until(|bed| bed.world.spare.requests() == 1, "the other service is called");
    let began = bed.world.executor.now_ms();
    bed.run_until(|bed| bed.world.executor.now_ms() >= began + 8_000, "its text has begun");
    bed.run_at_once();
    bed.restart();
    // The operator takes the other service out of the catalog meanwhile.
    bed.world.model.mend();
    bed.configure(|_| ());
    let heard = bed.wait(&bed.send_from(&request, Position::parse("0.14"))).unwrap();
    assert_eq!(heard.final_text(), "Answer to Hello.");
    let frames = heard.frames.unwrap();
    assert!(frames.contains("event: output_text.discard\ndata: {\"Segment\":0}"), "{frames}");
    assert_eq!(watched(&frames.replace(": keep-alive\n\n", "")).0, "Answer to Hello.");
    assert_eq!(bed.world.spare.requests(), 1);
}
