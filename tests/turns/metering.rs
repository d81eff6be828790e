//! Metering (interface §16): one data point for each submission, where the deployment binds a place for it.

use bed::*;
use serde_json::{Value, json};

fn metered() -> Bed {
    let bed = Bed::new();
    bed.world.metered.replace(Some(Vec::new()));
    bed
}

fn points(bed: &Bed) -> Vec<Value> {
    let points = bed.world.metered.borrow();
    points.iter().flatten().map(|point| serde_json::to_value(point).unwrap()).collect()
}

#[test]
fn each_submission_writes_one_point_with_its_own_tokens() {
    let bed = metered();
    let paused = bed.post(&turn("t1", "Ask [plan: client]"));
    bed.post(&results("t1", &[(&paused.calls()[0], json!(1))])).final_text();
    bed.post(&turn("t2", "More")).final_text();
    let points = points(&bed);
    assert_eq!(points.len(), 3);
    let blobs = |status: &str| json!(["submission", "", "m", "default", "default", status, ""]);
    assert_eq!(points[0]["indexes"], json!(["local"]));
    assert_eq!(points[0]["blobs"], blobs("awaiting_tools"));
    assert_eq!(points[1]["blobs"], blobs("completed"));
    let doubles = |point: &Value| -> Vec<f64> {
        point["doubles"].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let usage = bed.turn("t1").result()["Usage"]["TotalTokens"].as_f64().unwrap();
    let (first, second) = (doubles(&points[0]), doubles(&points[1]));
    assert_eq!(first.len(), 12);
    assert_eq!(first[4] + second[4], usage, "the points of a turn add up to its usage");
    assert_eq!((first[5], first[6]), (1.0, 1.0), "model calls and tool calls");
    assert_eq!((second[5], second[6]), (1.0, 0.0));
    assert_eq!(first[10..], [7.0, 3.0], "rows");
}

#[test]
fn a_submission_whose_instance_was_lost_twice_has_its_point_too() {
    let bed = metered();
    bed.world.model.script([Reply::Silence, Reply::Silence]);
    let _lost = bed.send(&turn("t1", "One"));
    for calls in [1, 2] {
        bed.run_until(|bed| bed.world.model_calls.borrow().len() == calls, "the model is asked");
        bed.restart();
        bed.alarm();
    }
    bed.settle();
    assert_eq!(bed.status("t1"), "failed");
    let points = points(&bed);
    assert_eq!(points.len(), 1);
    let blobs = &points[0]["blobs"];
    assert_eq!((&blobs[2], &blobs[6]), (&json!("m"), &json!("turn_interrupted")));
}

#[test]
fn a_failure_has_its_code_and_what_is_not_written_is_said_once_a_minute() {
    let bed = metered();
    bed.world.model.spoil_once_after(0, http_error(400, json!({ "code": "odd" }), &[]));
    let failed = bed.post(&turn("t1", "One"));
    let (status, code) = failed.failure();
    assert!(status >= 400);
    let blobs = points(&bed)[0]["blobs"].clone();
    assert_eq!((&blobs[5], &blobs[6]), (&json!("failed"), &json!(code)));

    bed.world.metering_fails.set(true);
    let said = |bed: &Bed| {
        let lines = bed.world.log.take();
        lines.iter().filter(|line| line["event"] == "metering_failed").count()
    };
    said(&bed);
    bed.post(&turn("t2", "Two")).final_text();
    bed.post(&turn("t3", "Three")).final_text();
    assert_eq!(said(&bed), 1);
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 60_000);
    bed.post(&turn("t4", "Four")).final_text();
    assert_eq!(said(&bed), 1);
}
