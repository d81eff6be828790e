//! What a background turn costs in rows, beside one without.

use super::*;

/// Rows that a plain follow-up turn writes and reads.
fn cost(change: impl Fn(&mut Value)) -> (u64, u64) {
    let bed = Bed::new();
    bed.configure(|catalog| change(catalog));
    let plain = |id: &str| {
        bed.world.model.script([say("Yes.").into()]);
        bed.post(&turn(id, "Hello")).final_text();
    };
    plain("t1");
    plain("t2");
    let disk = &bed.disk;
    let before = (disk.rows_written.get(), disk.rows_returned.get());
    plain("t3");
    (disk.rows_written.get() - before.0, disk.rows_returned.get() - before.1)
}

#[test]
fn a_background_turn_writes_one_row_more_and_one_more_where_its_response_is_to_be_deleted() {
    let (written, read) = cost(|_| ());
    assert_eq!(cost(ask_for_background), (written + 1, read));
    let deleting = |catalog: &mut Value| {
        catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true);
    };
    let (written, read) = cost(deleting);
    assert_eq!(
        cost(|catalog| {
            deleting(catalog);
            ask_for_background(catalog);
        }),
        (written + 1, read)
    );
}

#[test]
fn the_id_is_durable_before_the_response_goes_on() {
    for events in 1..EVENTS {
        let bed = in_background();
        bed.world.model.script([long().paced(1_000).silent_after(events).into()]);
        let _ = bed.send(&with(turn("t1", "Hello"), json!({ "Streaming": true })));
        let steps = bed.disk.steps.get();
        bed.run_until(|bed| bed.disk.steps.get() > steps + 1, "the id is durable");
        let row = &bed.disk.read("SELECT progress FROM turns")[0];
        let progress: Value = serde_json::from_str(row["progress"].as_str().unwrap()).unwrap();
        let pending = &progress["pending"];
        assert_eq!(
            (&pending["response_id"], &pending["resumptions"]),
            (&json!("resp_1"), &json!(0))
        );
        let transcript: Value =
            serde_json::from_str(pending["transcript"].as_str().unwrap()).unwrap();
        assert_eq!((&transcript["Number"], &transcript["Segment"]), (&json!(1), &json!(0)));
        let body = bed.world.model.latest_body();
        assert_eq!(transcript["BodySha256"], aptix_edge::encoding::sha256_hex(body.as_bytes()));
    }
}
