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

fn doubles(point: &Value) -> Vec<f64> {
    point["doubles"].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// The number of model calls and of tool calls, and the milliseconds of either and in all.
fn calls_and_times(point: &Value) -> [f64; 5] {
    doubles(point)[5..10].try_into().unwrap()
}

#[test]
fn each_submission_writes_one_point_with_its_own_tokens() {
    let bed = metered();
    let paused = bed.post(&turn("t1", "Ask [plan: client]"));
    bed.post(&results("t1", &[(&paused.calls()[0], json!(1))])).final_text();
    bed.post(&turn("t2", "More")).final_text();
    let points = points(&bed);
    assert_eq!(points.len(), 3);
    let catalog = bed.catalog_hash();
    let blobs =
        |status: &str| json!(["submission", "", "m", "default", "default", status, "", catalog]);
    assert_eq!(points[0]["indexes"], json!(["local"]));
    assert_eq!(points[0]["blobs"], blobs("awaiting_tools"));
    assert_eq!(points[1]["blobs"], blobs("completed"));
    let usage = bed.turn("t1").result()["Usage"]["TotalTokens"].as_f64().unwrap();
    let (first, second) = (doubles(&points[0]), doubles(&points[1]));
    assert_eq!(first.len(), 12);
    assert_eq!(first[4] + second[4], usage, "the points of a turn add up to its usage");
    assert_eq!((first[5], first[6]), (1.0, 0.0), "model calls, and calls of tools that ran here");
    assert_eq!((second[5], second[6]), (1.0, 0.0));
    assert_eq!(first[10..], [7.0, 3.0], "rows");
}

#[test]
fn a_submission_whose_instance_was_lost_twice_has_its_point_and_its_line_too() {
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
    assert_eq!(blobs[7], bed.catalog_hash());
    let log = bed.world.log.take();
    let lines = log.into_iter().filter(|line| line["event"] == "submission");
    let [line]: [Value; 1] = lines.collect::<Vec<_>>().try_into().unwrap();
    let told = ["level", "turn", "http_status", "model"].map(|name| line[name].clone());
    assert_eq!(told, [json!("error"), json!("t1"), json!(500), json!("m")]);
    let report = ["status", "code", "attempts"].map(|name| line["report"][name].clone());
    assert_eq!(report, [json!("failed"), json!("turn_interrupted"), json!(2)]);
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

#[test]
fn a_tool_counts_where_it_runs_with_its_time_so_an_approved_one_in_the_decision_s_submission() {
    let bed = metered();
    bed.configure(|catalog| {
        catalog["ServerTools"][0]["Approval"] = json!("Always");
        catalog["ServerTools"][0]["Http"]["TimeoutMs"] = json!(700);
        catalog["ServerTools"][0]["OnError"] = json!("ReportToModel");
    });
    bed.world.tools.think(|_| ToolAnswer::Never);
    let paused = bed.post(&turn("t1", "Look [plan: server]"));
    let decision = json!({ "Approved": true });
    bed.post(&results("t1", &[(&paused.calls()[0], decision)])).final_text();
    let points = points(&bed);
    let (first, second) = (calls_and_times(&points[0]), calls_and_times(&points[1]));
    assert_eq!(first[..2], [1.0, 0.0]);
    assert_eq!(first[3], 0.0);
    assert_eq!(second[..2], [1.0, 1.0]);
    assert!(second[3] >= 700.0 && second[4] >= second[2] + second[3], "{second:?}");
}

#[test]
fn a_model_call_that_fails_or_is_cut_counts_with_its_time() {
    let bed = metered();
    bed.world.model.script([http_error(400, json!({ "code": "odd" }), &[])]);
    bed.post(&turn("t1", "One")).failure();
    let busy = || http_error(500, json!({ "code": "server_error" }), &[]);
    bed.world.model.script([busy(), busy(), busy()]);
    bed.post(&turn("t2", "Two")).failure();
    bed.deploy("TURN_TIMEOUT_MS", "800");
    bed.world.model.script([Reply::Silence]);
    bed.post(&turn("t3", "Three")).failure();
    bed.world.tools.think(|_| ToolAnswer::Never);
    bed.post(&turn("t4", "Four [plan: server]")).failure();
    let points = points(&bed);
    let [refused, retried, cut, cut_tool] = [0, 1, 2, 3].map(|at| calls_and_times(&points[at]));
    assert_eq!(refused[..2], [1.0, 0.0]);
    assert_eq!(retried[..2], [1.0, 0.0]);
    assert!(retried[2] >= 1000.0 && retried[4] >= retried[2], "{retried:?}");
    assert_eq!(cut, [1.0, 0.0, 800.0, 0.0, 800.0]);
    assert_eq!(cut_tool[..2], [1.0, 1.0]);
    assert!(cut_tool[3] > 0.0 && cut_tool[4] >= cut_tool[3], "{cut_tool:?}");
}

#[test]
fn the_point_of_a_submission_counts_on_over_a_lost_instance_and_anew_after_a_failure() {
    let bed = metered();
    // One tool has run and the second one is running when the instance is lost.
    bed.world.tools.script([ToolAnswer::Json(json!({ "found": 1 })), ToolAnswer::Never]);
    let _lost = bed.send(&turn("t1", "Look [plan: server, server]"));
    bed.run_until(|bed| bed.world.tools.calls().len() == 2, "the second tool is called");
    bed.restart();
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 5_000);
    bed.alarm();
    bed.settle();
    assert_eq!(bed.status("t1"), "completed");
    let calls = bed.asked("GET", "/sessions/s/turns/t1/trace", "").result()["ModelCalls"].clone();
    let [point] = points(&bed).try_into().unwrap();
    let counted = calls_and_times(&point);
    let made = calls.as_array().unwrap().len() as f64;
    assert_eq!(counted[0], made, "the model calls of both instances");
    assert!(counted[4] >= 5_000.0 && counted[4] >= counted[2] + counted[3], "{counted:?}");
    let usage = bed.turn("t1").result()["Usage"]["TotalTokens"].as_f64().unwrap();
    assert_eq!(doubles(&point)[4], usage);

    bed.world.model.script([http_error(401, json!({ "code": "invalid_api_key" }), &[])]);
    bed.post(&turn("t2", "Two")).failure();
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 86_400_000);
    bed.post(&turn("t2", "Two")).final_text();
    let points = points(&bed);
    assert_eq!(calls_and_times(&points[1])[0], 1.0);
    let again = calls_and_times(&points[2]);
    assert_eq!(again[0], 1.0);
    assert!(again[4] < 86_400_000.0, "{again:?}");
}
