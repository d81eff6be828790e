//! A crash at every durable step around a fall-back: the turn ends once, with the service that its row names.

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
