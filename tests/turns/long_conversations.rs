//! A conversation is read from its rows while it is sent to the model service, and never stands in memory as
//! a whole. `APTIX_SEED=n` runs one random conversation alone.

use std::collections::BTreeMap;

use aptix_edge::encoding::sha256_hex;
use aptix_edge::persistence::{EntrySeq, SessionStore};
use aptix_edge::responses_api::for_replay;
use bed::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The longest text in which storage keeps a part of an entry, in bytes.
const PART_BYTES: usize = 500_000;

/// A text of so many characters, of all lengths and with everything that JSON escapes.
fn text(random: &mut Random, characters: u64) -> String {
    const SOME: [&str; 8] = ["a", "\"", "\\", "\n", "é", "😀", "{[", "]},"];
    let some: Vec<&str> = (0..991).map(|_| *random.pick(&SOME)).collect();
    some.into_iter().cycle().take(characters as usize).collect()
}

fn some_text(random: &mut Random) -> String {
    let characters = match random.below(5) {
        0 => 300_000 + random.below(300_000),
        1 => random.below(100_000),
        _ => random.below(300),
    };
    text(random, characters)
}

fn artifact(contents: &str) -> Value {
    json!({ "InputArtifacts": [
        { "RelativePath": "a.rs", "FileName": "a.rs", "Contents": contents, "Origin": "ide" },
    ] })
}

/// The conversation's items as the next call that sends all of them writes them, composed in memory.
fn composed(bed: &Bed) -> String {
    let cell = |row: &BTreeMap<String, Value>, name: &str| row[name].as_str().unwrap().to_owned();
    let mut written: Vec<String> = Vec::new();
    for row in bed.disk.read("SELECT kind, entry_state, items FROM conversation ORDER BY seq") {
        let mut items = cell(&row, "items");
        if let Some(name) = items.strip_prefix('@') {
            let parts = format!("SELECT text FROM texts WHERE hash = '{name}' ORDER BY part");
            items = bed.disk.read(&parts).iter().map(|part| cell(part, "text")).collect();
        }
        let items: Vec<Box<RawValue>> = serde_json::from_str(&items).unwrap();
        let (kind, entry_state) = (cell(&row, "kind"), cell(&row, "entry_state"));
        if (kind.as_str(), entry_state.as_str()) == ("answer", "kept") {
            let items: Vec<&RawValue> = items.iter().map(|item| &**item).collect();
            for_replay(&items, true, &mut |item| written.push(item.to_string()));
            continue;
        }
        for item in &items {
            match (kind.as_str(), entry_state.as_str()) {
                (_, "kept") => written.push(item.to_string()),
                ("tool_outputs", "withheld") => {
                    let item: Value = serde_json::from_str(item.get()).unwrap();
                    written.push(format!(
                        r#"{{"type":"function_call_output","call_id":{},"output":"{{\"error\":\"The model service refused the tool's result.\"}}"}}"#,
                        item["call_id"]
                    ));
                }
                _ => {}
            }
        }
    }
    written.join(",")
}

/// A session of some turns, each with short and long words, answers and tool results.
fn talked(random: &mut Random, context: &str) -> Bed {
    let bed = Bed::new();
    let characters = random.below(200_000);
    let long = text(random, characters);
    bed.world.tools.think(move |body| ToolAnswer::Json(json!([body["ToolCallId"], long])));
    for number in 0..1 + random.below(6) {
        let id = format!("t{number}");
        let plan = ["", "", "[plan: mixed]", "[plan: two-servers, client]"];
        let mut request = turn(&id, &format!("Words {}", random.pick(&plan)));
        request["ConversationContextId"] = context.into();
        if random.chance(60) {
            request = with(request, artifact(&some_text(random)));
        }
        if random.chance(30) && !request["Instruction"].to_string().contains("plan") {
            bed.world.model.script([say(&some_text(random)).into()]);
        }
        let mut heard = bed.post(&request);
        while heard.result()["Kind"] == "client_tool_continuation" {
            let calls = heard.calls();
            let given: Vec<(&str, Value)> =
                calls.iter().map(|call| (call.as_str(), some_text(random).into())).collect();
            heard = bed.post(&results(&id, &given));
        }
    }
    for row in bed.disk.read("SELECT seq, kind, items FROM conversation WHERE seq > 1") {
        let plain = row["kind"] == "answer" && !row["items"].to_string().contains("function_call");
        let seq = &row["seq"];
        match row["kind"].as_str().unwrap() {
            "answer" if plain && random.chance(15) => {
                bed.disk.write(&format!("UPDATE conversation SET items = '[]' WHERE seq = {seq}"));
            }
            "user" | "tool_outputs" if random.chance(15) => bed.disk.write(&format!(
                "UPDATE conversation SET entry_state = 'withheld' WHERE seq = {seq}"
            )),
            _ => {}
        }
    }
    bed
}

fn run(seed: u64) -> usize {
    let mut random = Random(seed.wrapping_mul(0x5_0021));
    let context = *random.pick(&["default", "replay"]);
    let bed = talked(&mut random, context);
    bed.world.model.forget();
    let small = 1 + random.below(9_999) as usize * 100;
    bed.world.piece_bytes.set(*random.pick(&[256 * 1024, small]));
    bed.world.shake(seed);
    if random.chance(80) {
        bed.restart();
    }
    let last = with(turn("last", "Last"), artifact(&some_text(&mut random)));
    bed.post(&last).final_text();
    // The answer is no part of what the call has sent.
    bed.disk.write(
        "UPDATE conversation SET items = '[]' WHERE seq = (SELECT MAX(seq) FROM conversation)",
    );
    let (sent, input) = (bed.world.model.latest_body(), composed(&bed));
    let body: BTreeMap<&str, &RawValue> = serde_json::from_str(&sent).unwrap();
    assert!(body["input"].get() == format!("[{input}]"), "another input");
    let order = ["{\"model\":\"m\",\"input\":[", "],\"tools\":[", "\"stream\":true,"];
    let places = order.map(|part| sent.find(part).unwrap());
    assert!(places.is_sorted() && sent.ends_with('}'), "{places:?}");
    bed.assert_chain_held();

    let calls = bed.asked("GET", "/sessions/s/turns/last/trace", "").result()["ModelCalls"].clone();
    let call = calls.as_array().unwrap().last().unwrap();
    assert_eq!(call["BodyBytes"], sent.len());
    assert_eq!(call["BodySha256"], sha256_hex(sent.as_bytes()));
    let items: Vec<&RawValue> = serde_json::from_str(body["input"].get()).unwrap();
    let bytes: usize = items.iter().map(|item| item.get().len()).sum();
    let block = &call["Composition"][1];
    assert_eq!(block["Source"], format!("conversation: {} items", items.len()));
    assert_eq!(block["Bytes"], bytes);
    sent.len()
}

#[test]
fn what_is_sent_is_what_would_be_composed_in_memory() {
    run_seeds(16, 1000, &["a short body", "a long body"], |seed, _| {
        let size = match run(seed) {
            bytes if bytes > 2 * PART_BYTES => "a long body",
            bytes if bytes < PART_BYTES / 2 => "a short body",
            _ => "a body",
        };
        BTreeMap::from([(size.to_owned(), 1)])
    });
}

/// A session with some megabytes behind it, whose next turn sends all of them again.
fn long_session(context: &str) -> Bed {
    let bed = Bed::new();
    for number in 0..3 {
        let request = turn(&format!("t{number}"), "Words [plan: client]");
        let request = with(request, json!({ "ConversationContextId": context }));
        let asked = bed.post(&with(request, artifact(&"\n".repeat(900_000)))).calls();
        let given = [(asked[0].as_str(), "x".repeat(1_200_000).into())];
        bed.post(&results(&format!("t{number}"), &given)).final_text();
    }
    bed.world.model.forget();
    bed.restart();
    bed.disk.watch();
    bed
}

#[test]
fn no_more_of_a_conversation_is_read_at_once_than_one_part_of_an_entry() {
    for context in ["default", "replay"] {
        let bed = long_session(context);
        let (pieces, read) = (&bed.world.pieces, &bed.disk.bytes_returned);
        let pending = bed.send(&turn("last", "Last"));
        let mut before = (0, 0);
        let mut most = 0;
        let is_sent = |bed: &Bed| {
            let body = bed.world.model.latest_body();
            body.contains("Last") && body.len() > 6_000_000
        };
        pieces.set(0);
        while !is_sent(&bed) {
            assert!(bed.step(), "a long body is sent");
            if pieces.get() == before.0 {
                continue;
            }
            // The first pass, for the length, is over when the first piece is taken.
            if before.0 > 2 {
                most = most.max(read.get() - before.1);
            }
            before = (pieces.get(), read.get());
        }
        assert!(
            (PART_BYTES / 2..PART_BYTES + 100).contains(&most),
            "{most} bytes between two pieces"
        );
        bed.wait(&pending).unwrap().final_text();
        for (statement, seen) in bed.disk.statements() {
            assert!(seen.most_bytes < PART_BYTES + 100_000, "{statement}: {seen:?}");
        }
    }
}

#[test]
fn a_body_that_can_no_longer_be_read_fails_its_turn_and_no_other() {
    let bed = long_session("replay");
    bed.world.pieces.set(0);
    let pending = bed.send(&turn("last", "Last"));
    bed.run_until(|bed| bed.world.pieces.get() == 3, "the body is being sent");
    let requests = bed.world.model.requests();
    bed.disk.write("ALTER TABLE texts RENAME TO lost");
    let heard = bed.wait(&pending).unwrap();
    assert_eq!(heard.failure(), (500, "internal"), "{}", heard.text);
    assert_eq!(bed.world.model.requests(), requests, "no part of a body is a request");
    bed.disk.write("ALTER TABLE lost RENAME TO texts");
    bed.restart();
    assert_eq!(bed.post(&turn("last", "Last")).final_text(), "Answer to Last.");
    bed.assert_chain_held();
}

#[test]
fn a_session_that_is_erased_while_its_conversation_is_sent_leaves_nothing() {
    for taken in [1, 2, 9] {
        let bed = long_session("default");
        bed.world.pieces.set(0);
        let pending = bed.send(&turn("last", "Last"));
        bed.run_until(|bed| bed.world.pieces.get() > taken, "the body is being sent");
        bed.wait(&bed.send_erase()).unwrap().result();
        assert_eq!(bed.wait(&pending).unwrap().failure(), (409, "turn_aborted"));
        let (pieces, requests) = (bed.world.pieces.get(), bed.world.model.requests());
        bed.settle();
        assert_eq!((bed.world.pieces.get(), bed.world.model.requests()), (pieces, requests));
        assert!(bed.disk.read("SELECT name FROM sqlite_master WHERE type = 'table'").is_empty());
    }
}

#[test]
fn a_turn_of_many_long_results_is_ended_shown_and_exported_without_being_read_at_once() {
    const PAUSES: usize = 8;
    let bed = Bed::new();
    let plan = ["client"; PAUSES].join(", ");
    let mut heard = bed.post(&turn("t", &format!("Words [plan: {plan}]")));
    bed.disk.watch();
    for pause in 0..PAUSES {
        let result = format!("{pause} {}", "x".repeat(400_000));
        let asked = heard.calls();
        heard = bed.post(&results("t", &[(asked[0].as_str(), result.into())]));
    }
    assert_eq!(heard.final_text(), "Answer to Words.");
    let late = bed.post(&results("t", &[("nobody", json!(1))]));
    assert_eq!(late.failure(), (409, "turn_not_awaiting_tools"));

    let trace = bed.asked("GET", "/sessions/s/turns/t/trace", "").result().clone();
    let lengths = trace["ToolCalls"].as_array().unwrap().iter().map(|call| &call["ResultBytes"]);
    assert_eq!(lengths.collect::<Vec<_>>(), [400_004; PAUSES]);
    let exported = bed.export()["Result"]["Turns"][0].clone();
    let calls = exported["ToolCalls"].as_array().unwrap();
    assert_eq!(calls.len(), PAUSES);
    for (pause, call) in calls.iter().enumerate() {
        let result = call["Answer"]["ResultJson"].as_str().unwrap();
        assert!(result.len() == 400_004 && result.starts_with(&format!("\"{pause} ")), "{pause}");
    }
    let entries = exported["Conversation"].as_array().unwrap();
    let places: Vec<u64> = entries.iter().map(|it| it["Sequence"].as_u64().unwrap()).collect();
    assert_eq!(places, (1..=2 * PAUSES as u64 + 3).collect::<Vec<_>>());
    for (statement, seen) in bed.disk.statements() {
        assert!(seen.most_bytes < PART_BYTES + 100_000, "{statement}: {seen:?}");
    }
}

#[test]
fn a_turn_of_many_long_outcomes_is_exported_without_their_being_read_at_once() {
    const PAUSES: usize = 8;
    let bed = Bed::new();
    let ask =
        |number| says(vec![call("ask", json!({ "what": number, "why": "x".repeat(400_000) }))]);
    bed.world.model.script((0..PAUSES).map(|number| ask(number).into()));
    let mut heard = bed.post(&turn("t", "Words"));
    for _ in 0..PAUSES {
        let asked = heard.calls();
        heard = bed.post(&results("t", &[(asked[0].as_str(), json!(1))]));
    }
    heard.final_text();
    bed.disk.watch();
    let exported = bed.export()["Result"]["Turns"][0].clone();
    let submissions = exported["Submissions"].as_array().unwrap();
    assert_eq!(submissions.len(), PAUSES + 1);
    for (number, submission) in submissions.iter().take(PAUSES).enumerate() {
        let asked = &submission["Outcome"]["Result"]["ToolCalls"][0]["ArgumentsJson"];
        assert!(asked.as_str().unwrap().starts_with(&format!(r#"{{"what":{number},"#)), "{number}");
    }
    assert_eq!(submissions[PAUSES]["Outcome"], heard.body);
    for (statement, seen) in bed.disk.statements() {
        assert!(seen.most_bytes < PART_BYTES + 100_000, "{statement}: {seen:?}");
    }
}

#[test]
fn the_entries_of_a_long_conversation_are_listed_some_at_once() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One")).final_text();
    bed.disk.write(
        "WITH RECURSIVE n (seq) AS (SELECT 101 UNION ALL SELECT seq + 1 FROM n WHERE seq < 2100)
         INSERT INTO conversation (seq, turn, kind, entry_state, items)
         SELECT seq, 1, 'user', 'kept', '[]' FROM n",
    );
    let store = SessionStore::new(bed.disk.database());
    bed.disk.watch();
    let entries = store.entries_after(EntrySeq(100)).unwrap();
    let places: Vec<u64> = entries.iter().map(|entry| entry.seq.0).collect();
    assert_eq!(places, (101..=2100).collect::<Vec<_>>());
    assert!(bed.disk.statements().values().all(|cost| cost.most_rows <= 1_000));
}
