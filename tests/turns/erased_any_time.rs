//! A session is erased at any moment of the life of its turns, as a seed decides: nothing of it is left
//! after the receipt, and nothing that was sent before comes back.
//!
//! `APTIX_SEED=n` runs one seed alone; `APTIX_LONG_TESTS=1` runs many more.

use std::collections::BTreeMap;

use bed::*;
use serde_json::{Value, json};

const SEEDS: u64 = 250;
const LONG_SEEDS: u64 = 40_000;

/// The number of runs that met something.
type Met = BTreeMap<String, usize>;

/// A session whose workspace is searched, by the index or by a service.
fn searched(random: &mut Random) -> Bed {
    let bed = Bed::new();
    let documents = json!({ "Documents": [{ "Path": "a.rs", "Contents": "fn words() {}\n" }] });
    bed.asked("PUT", "/workspaces/w/documents", &documents.to_string()).result();
    let by_service = random.chance(50);
    bed.configure(|catalog| {
        let agent = &mut catalog["AgentContexts"]["default"];
        agent["DeleteStored"] = json!(true);
        if by_service {
            agent["Retrieval"] = json!({ "Http": { "Url": "https://search.example/q" } });
        }
    });
    let silent = random.chance(20);
    bed.world.tools.think(move |body| match body.get("Query") {
        None => {
            let file = json!({ "Name": "a.txt", "MimeType": "text/plain", "Text": "words" });
            ToolAnswer::Json(json!({ "found": body["ToolCallId"], "Files": [file] }))
        }
        Some(_) if silent => ToolAnswer::Never,
        Some(_) => ToolAnswer::Json(json!({ "Chunks": [
            { "Path": "a.rs", "StartLine": 1, "EndLine": 1, "Text": "fn words() {}" },
        ] })),
    });
    bed
}

fn act(bed: &Bed, random: &mut Random, turns: &mut u64) -> Pending {
    const PLANS: [&str; 4] = ["", "[plan: server]", "[plan: mixed]", "[plan: client, mode:ddr]"];
    let some_turn = format!("t{}", 1 + random.below((*turns).max(1)));
    match random.below(10) {
        0..5 => {
            *turns += 1;
            let words = format!("Words {}", random.pick(&PLANS));
            let asked = turn(&format!("t{turns}"), &words);
            let more = json!({ "Streaming": random.chance(50), "WorkspaceId": "w" });
            bed.send(&if random.chance(75) { with(asked, more) } else { asked })
        }
        5..8 => {
            let waiting = bed.disk.read(
                "SELECT turn_id, call_id FROM session JOIN turns ON turns.ordinal = session.open_turn
                 JOIN calls ON calls.turn = open_calls_turn AND calls.model_call = open_calls_model_call
                 WHERE status = 'awaiting_tools' AND runs_on = 'client' ORDER BY position",
            );
            let text = |row: &BTreeMap<String, Value>, name| row[name].as_str().unwrap().to_owned();
            let turn = waiting.first().map_or(some_turn, |row| text(row, "turn_id"));
            let calls: Vec<String> = waiting.iter().map(|row| text(row, "call_id")).collect();
            let given: Vec<(&str, Value)> =
                calls.iter().map(|call| (call.as_str(), json!(1))).collect();
            if given.is_empty() {
                bed.attach(&turn, None)
            } else {
                bed.send(&results(&turn, &given))
            }
        }
        8 => bed.send_cancel(&some_turn),
        _ => bed.attach(&some_turn, None),
    }
}

/// What the session was doing when it was erased.
fn moment(bed: &Bed) -> &'static str {
    if bed.disk.read("SELECT 1 FROM sqlite_master WHERE name = 'turns'").is_empty() {
        return "nothing was accepted";
    }
    let rows = bed.disk.read(
        "SELECT status, progress LIKE '%\"retrieval\":{%' AS retrieves FROM turns
         ORDER BY ordinal DESC LIMIT 1",
    );
    match (rows[0]["status"].as_str().unwrap(), &rows[0]["retrieves"]) {
        ("running", retrieves) if *retrieves == 1 => "a turn retrieved",
        ("running", _) => "a turn ran",
        ("awaiting_tools", _) => "a turn waited",
        _ => "no turn was live",
    }
}

fn run(seed: u64) -> Met {
    let mut met = Met::new();
    let mut random = Random(seed.wrapping_mul(0x2_0003));
    let bed = searched(&mut random);
    bed.world.shake(seed);
    bed.world.late_bodies.set(true);
    let mut turns = 0;
    let mut waiting = Vec::new();
    for _ in 0..1 + random.below(5) {
        waiting.push(act(&bed, &mut random, &mut turns));
        for _ in 0..random.below(60) {
            bed.step();
        }
        if random.chance(5) {
            bed.restart();
            bed.alarm();
        }
    }
    if random.chance(50) {
        // A turn has just begun: its retrieval comes first.
        let request = with(turn("new", "Words"), json!({ "WorkspaceId": "w" }));
        waiting.push(bed.send(&request));
        for _ in 0..random.below(12) {
            bed.step();
        }
    }
    *met.entry(moment(&bed).to_owned()).or_default() += 1;
    // Requests of the same millisecond have no order.
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1);
    let erased = bed.wait(&bed.send_erase()).expect("the instance lives");
    assert!([200, 404].contains(&erased.status), "{}", erased.text);
    *met.entry(format!("DELETE {}", erased.status)).or_default() += 1;

    let left = |bed: &Bed| {
        let tables = bed.disk.read("SELECT name FROM sqlite_master WHERE type = 'table'").len();
        let model = &bed.world.model;
        (tables, bed.world.files.borrow().len(), model.open.get(), model.held.borrow().len())
    };
    assert_eq!(left(&bed), (0, 0, 0, 0), "{}", erased.text);
    let asked = (bed.world.model.requests(), bed.world.tools.calls().len());
    bed.settle();
    bed.try_alarm().unwrap();
    bed.settle();
    assert_eq!(left(&bed), (0, 0, 0, 0), "it came back");
    assert_eq!((bed.world.model.requests(), bed.world.tools.calls().len()), asked);
    assert_eq!(bed.session().failure(), (404, "session_not_found"));
    for pending in waiting.iter().filter(|pending| pending.lives()) {
        let heard = pending.heard().expect("every request is answered");
        let (status, code) = heard.failure();
        assert!([200, 404, 409].contains(&status), "{}", heard.text);
        let late = heard.text.contains("erased before this request was accepted");
        let what = if late { "not accepted any more" } else { code };
        *met.entry(what.to_owned()).or_default() += 1;
    }
    // The same session begins anew, and knows nothing.
    bed.post(&turn("t1", "Anew")).final_text();
    let heard = bed.world.model.conversation();
    assert_eq!((heard.heard("Words"), heard.heard("Anew")), (0, 1));
    bed.assert_chain_held();
    met
}

#[test]
fn whenever_a_session_is_erased_nothing_is_left_and_nothing_comes_back() {
    let expected = [
        "nothing was accepted",
        "a turn retrieved",
        "a turn ran",
        "a turn waited",
        "no turn was live",
        "not accepted any more",
        "turn_aborted",
        "DELETE 404",
    ];
    run_seeds(SEEDS, LONG_SEEDS, &expected, |seed, _| run(seed));
}
