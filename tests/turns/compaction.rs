//! A session never ends because the model's context window is full (interface §10). The model service here
//! has a window of so many bytes, and counts the chain and the input.
//!
//! `APTIX_SEED=n` runs one random session alone; `APTIX_LONG_TESTS=1` runs many more, and longer ones.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::json;

use super::*;

/// The ways in which a service says that the input is too long.
fn refusals() -> [(&'static str, Reply); 6] {
    let worded = json!({ "message": "This model's maximum context length is 8192 tokens." });
    let mut behind_another = worded.clone();
    behind_another["code"] = json!("invalid_prompt");
    [
        ("by code", http_error(400, json!({ "code": "context_length_exceeded" }), &[])),
        ("by wording", http_error(400, worded, &[])),
        ("by wording behind a code of any input", http_error(400, behind_another, &[])),
        ("as a body that is too large", http_error(413, json!({}), &[])),
        ("failed in the stream", failed_at_once("context_length_exceeded")),
        ("an error event in the stream", error_event_at_once("context_length_exceeded")),
    ]
}

/// `response.failed` before any output.
fn failed_at_once(code: &'static str) -> Reply {
    Answer { ending: Ending::Failed(code), ..says(Vec::new()) }.into()
}

/// An error event before any output.
fn error_event_at_once(code: &'static str) -> Reply {
    Answer { ending: Ending::ErrorEvent { code, nested: true }, ..says(Vec::new()) }.into()
}

/// A turn in a context of the bed's catalog.
fn turn_in(context: &str, id: &str, words: &str) -> Value {
    with(turn(id, words), json!({ "ConversationContextId": context }))
}

/// Some text of this length, which begins with `words`.
fn long(words: &str, bytes: usize) -> String {
    let filler = bytes.saturating_sub(words.len());
    format!("{words} {}", "word ".repeat(filler / 5))
}

/// The items of the newest request's input.
fn newest_input(bed: &Bed) -> Vec<Said> {
    input(bed.world.model.bodies().last().unwrap())
}

fn compactions(bed: &Bed, turn: &str) -> Vec<Value> {
    let trace = bed.asked("GET", &format!("/sessions/s/turns/{turn}/trace"), "");
    trace.result()["Compactions"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_session_outlives_its_window_whatever_the_refusal_and_the_continuation() {
    const WINDOW: usize = 12_000;
    for context in ["default", "replay"] {
        for (name, refusal) in refusals() {
            let bed = Bed::new();
            bed.world.model.narrow(WINDOW, refusal);
            let mut compacted = 0;
            for number in 1..=30 {
                let id = format!("t{number}");
                let words = long(&format!("Words{number}"), 1_200);
                let heard = bed.post(&turn_in(context, &id, &words));
                assert_eq!(
                    heard.final_text(),
                    format!("Answer to Words{number}."),
                    "{name}, {context}"
                );
                let sent = newest_input(&bed);
                let Some(Said::User(newest)) = sent.last() else { panic!("{sent:?}") };
                assert_eq!(*newest, format!("[MODE: general]\n\n[INSTRUCTION]\n{words}"));
                let made = compactions(&bed, &id);
                let warned = heard.result()["UserWarnings"].as_array().map_or(0, Vec::len);
                assert_eq!(made.is_empty(), warned == 0, "{name}, {context}: {}", heard.text);
                if let [first, ..] = made.as_slice() {
                    compacted += 1;
                    assert_eq!(first["Reason"], "refused");
                    assert_eq!(first["TurnsLeftOut"], 0);
                    assert!(first["SummaryBytes"].as_u64().unwrap() > 0);
                    assert!(first["Usage"]["TotalTokens"].as_u64().unwrap() > 0);
                    assert_eq!(sent[0], Said::System("Boot.".to_owned()));
                    let Said::User(summary) = &sent[1] else { panic!("{sent:?}") };
                    assert!(summary.starts_with("[SUMMARY OF EARLIER TURNS]\n"), "{summary}");
                    assert!(summary.contains("Summary of "), "{summary}");
                }
            }
            assert!((3..15).contains(&compacted), "{name}, {context}: {compacted} compactions");
            bed.assert_chain_held();
            super::replays::assert_replays(&bed, "compaction");
            assert_eq!(bed.export()["Result"]["Turns"].as_array().unwrap().len(), 30);
        }
    }
}

#[test]
fn a_tool_result_that_is_too_much_is_shortened_in_the_middle_of_its_turn() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        bed.world
            .model
            .narrow(12_000, http_error(400, json!({ "code": "context_length_exceeded" }), &[]));
        bed.post(&turn_in(context, "t1", &long("Before", 3_000))).final_text();
        let asked = bed.post(&turn_in(context, "t2", "Read it [plan: client, client]")).calls();
        let much = format!("begin {} end", "x".repeat(50_000));
        let more = bed.post(&results("t2", &[(&asked[0], json!(much))])).calls();
        let sent = newest_input(&bed);
        let shown = |sent: &[Said], id: &str| {
            sent.iter()
                .find_map(|said| match said {
                    Said::Output(call, text) if call == id => Some(text.clone()),
                    _ => None,
                })
                .unwrap()
        };
        let shortened = shown(&sent, &asked[0]);
        assert!(
            shortened.starts_with("\"begin x") && shortened.ends_with("x end\""),
            "{shortened}"
        );
        assert!(shortened.contains(" bytes were left out here: "), "{shortened}");
        // What comes later in the turn still fits, and is whole.
        let heard = bed.post(&results("t2", &[(&more[0], json!("short"))]));
        assert_eq!(heard.final_text(), "Answer to Read.");
        assert_eq!(heard.result()["UserWarnings"].as_array().unwrap().len(), 1, "{}", heard.text);
        bed.post(&turn_in(context, "t3", "After")).final_text();
        bed.assert_chain_held();
        super::replays::assert_replays(&bed, "compaction");
        // Storage keeps it whole.
        assert!(bed.export().to_string().contains(&"x".repeat(50_000)));
    }
}

#[test]
fn a_turn_that_does_not_fit_alone_fails_and_the_next_one_works() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        bed.world
            .model
            .narrow(8_000, http_error(400, json!({ "code": "context_length_exceeded" }), &[]));
        for number in 1..=3 {
            bed.post(&turn_in(context, &format!("t{number}"), &long("Kept", 1_000))).final_text();
        }
        bed.world.model.counts.set(true);
        bed.post(&turn_in(context, "t4", "Kept")).final_text();
        let counted = bed.session().result()["ContextTokens"].clone();
        assert!((750..1_500).contains(&counted.as_u64().unwrap()), "{counted}");
        let much = turn_in(context, "much", &long("Much", 20_000));
        let heard = bed.post(&much);
        assert_eq!(heard.failure(), (413, "context_window_exceeded"), "{}", heard.text);
        assert_eq!(bed.status("much"), "failed");
        assert_eq!(bed.session().result()["ContextTokens"], counted, "summaries do not count");
        // It is no better when it is repeated, and harms nobody.
        assert_eq!(bed.post(&much).failure(), (413, "context_window_exceeded"));
        assert_eq!(bed.post(&turn_in(context, "next", "Next")).final_text(), "Answer to Next.");
        let conversation = bed.world.model.conversation();
        assert_eq!((conversation.heard("Much"), conversation.heard("Kept")), (0, 4));
        bed.assert_chain_held();
        super::replays::assert_replays(&bed, "compaction");
    }
}

#[test]
fn a_turn_that_fails_behind_its_compaction_tells_of_it_when_it_is_repeated() {
    let bed = Bed::new();
    bed.world.model.counts.set(true);
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Compaction"] = json!({ "Threshold": 1_500 });
    });
    for id in ["t1", "t2"] {
        bed.post(&turn(id, &long("Words", 2_000))).final_text();
    }
    let asked = bed.post(&turn("t3", "Read [plan: client]")).calls();
    bed.world.model.rules.refuse_by(|_, items| {
        let is_output = |item: &ConversationItem| item.to_string().contains("xxx");
        items.iter().any(is_output).then(|| http_error(401, json!({}), &[]))
    });
    let given = results("t3", &[(&asked[0], json!("x".repeat(2_500)))]);
    assert_eq!(bed.post(&given).failure(), (502, "upstream_rejected"));
    assert_eq!(compactions(&bed, "t3").len(), 1);
    bed.world.model.rules.refuse_nothing();
    let warned = bed.post(&given).result()["UserWarnings"].to_string();
    assert!(warned.contains("The conversation had become too long"), "{warned}");
}

#[test]
fn without_compaction_a_refusal_for_length_is_the_client_s() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Compaction"] = json!({ "By": "None" });
    });
    bed.world
        .model
        .narrow(6_000, http_error(400, json!({ "code": "context_length_exceeded" }), &[]));
    bed.post(&turn("t1", &long("One", 3_000))).final_text();
    let requests = bed.world.model.requests();
    let heard = bed.post(&turn("t2", &long("Two", 4_000)));
    assert_eq!(heard.failure(), (413, "context_window_exceeded"));
    assert_eq!(bed.world.model.requests(), requests + 1);
    assert_eq!(bed.post(&turn("t3", "Three")).final_text(), "Answer to Three.");
    assert_eq!(bed.world.model.conversation().heard("Two"), 0);
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "compaction");
}

#[test]
fn a_threshold_compacts_before_the_service_refuses() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        bed.configure(|catalog| {
            catalog["AgentContexts"][context]["Compaction"] = json!({ "Threshold": 3_000 });
        });
        bed.world.model.counts.set(true);
        // The service would refuse what is half as long again, and is never asked to.
        bed.world.model.narrow(18_000, http_error(500, json!({}), &[]));
        let mut reasons = Vec::new();
        for number in 1..=30 {
            let id = format!("t{number}");
            bed.post(&turn_in(context, &id, &long("Words", 1_500))).final_text();
            reasons.extend(compactions(&bed, &id));
        }
        assert!((2..15).contains(&reasons.len()), "{context}: {reasons:?}");
        assert!(reasons.iter().all(|made| made["Reason"] == "threshold"), "{reasons:?}");
        bed.assert_chain_held();
        super::replays::assert_replays(&bed, "compaction");
    }
}

#[test]
fn a_picture_does_not_count_by_its_bytes() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        bed.configure(|catalog| {
            catalog["AgentContexts"][context]["Compaction"] = json!({ "Threshold": 50_000 });
        });
        bed.post(&turn_in(context, "t1", &long("One", 2_000))).final_text();
        let image =
            json!({ "Id": "i", "MimeType": "image/png", "DataBase64": "AAAA".repeat(100_000) });
        let shows = with(turn_in(context, "t2", "Look"), json!({ "ClipboardImages": [image] }));
        bed.post(&shows).final_text();
        bed.post(&turn_in(context, "t3", "Three")).final_text();
        for id in ["t1", "t2", "t3"] {
            assert_eq!(compactions(&bed, id), Vec::<Value>::new(), "{context}, {id}");
        }
        bed.assert_chain_held();
    }
}

/// A bed of which one agent context is compacted by its service.
fn compacted_by_the_service(agent: &str) -> Bed {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["AgentContexts"][agent]["Compaction"] =
            json!({ "By": "Service", "Threshold": 5_000 });
    });
    bed
}

#[test]
fn the_service_s_own_compaction_stands_for_all_before_it() {
    for context in ["default", "replay"] {
        let bed = compacted_by_the_service(context);
        bed.post(&turn_in(context, "t1", &long("One", 2_000))).final_text();
        bed.post(&turn_in(context, "t2", &long("Two", 2_000))).final_text();
        let items = vec![Item::Reasoning, Item::Compaction, Item::Text(vec!["Three.".to_owned()])];
        bed.world.model.script([says(items).into()]);
        let heard = bed.post(&turn_in(context, "t3", "Third"));
        assert_eq!(heard.final_text(), "Three.");
        assert_eq!(heard.result()["UserWarnings"].as_array().unwrap().len(), 1, "{}", heard.text);
        let made = compactions(&bed, "t3");
        assert_eq!((made.len(), &made[0]["Reason"]), (1, &json!("service")));
        assert!(made[0]["ItemsBefore"].as_u64() > made[0]["ItemsAfter"].as_u64(), "{made:?}");
        assert_eq!(bed.session().result()["ContextTokens"], 100);

        bed.restart();
        bed.world.model.forget();
        bed.post(&turn_in(context, "t4", "Fourth")).final_text();
        let body = bed.world.model.bodies().pop().unwrap();
        assert_eq!(
            body["context_management"],
            json!([{ "type": "compaction", "compact_threshold": 5_000 }])
        );
        let kinds: Vec<&str> = (body["input"].as_array().unwrap().iter())
            .map(|item| item["role"].as_str().or(item["type"].as_str()).unwrap())
            .collect();
        assert_eq!(kinds, ["system", "compaction", "assistant", "user"]);
        assert_eq!(body["input"][1]["encrypted_content"], "sealed ".repeat(600));

        // A refusal for length is still met by a summary of what storage has.
        bed.world
            .model
            .narrow(6_000, http_error(400, json!({ "code": "context_length_exceeded" }), &[]));
        bed.post(&turn_in(context, "t5", &long("Fifth", 2_500))).final_text();
        let conversation = bed.world.model.conversation();
        assert!(conversation.user_texts()[0].starts_with("[SUMMARY OF EARLIER TURNS]\n"));
        for word in ["One", "Two", "Third", "Fourth", "Fifth"] {
            assert_eq!(conversation.heard(&format!("[INSTRUCTION]\n{word}")), 1, "{word}");
        }
        bed.assert_chain_held();
        super::replays::assert_replays(&bed, "compaction");
    }
}

#[test]
fn the_current_solution_context_goes_out_again() {
    let bed = Bed::new();
    bed.world
        .model
        .narrow(8_000, http_error(400, json!({ "code": "context_length_exceeded" }), &[]));
    let first = with(turn("t0", "First"), json!({ "SolutionContextText": "Solution one." }));
    bed.post(&first).final_text();
    for number in 1..=20 {
        bed.post(&turn(&format!("t{number}"), &long("Words", 1_000))).final_text();
        assert_eq!(bed.world.model.conversation().heard("[SOLUTION CONTEXT]\nSolution one."), 1);
    }
    let second = with(turn("u", "Second"), json!({ "SolutionContextText": "Solution two." }));
    bed.post(&second).final_text();
    for number in 21..=40 {
        bed.post(&turn(&format!("t{number}"), &long("Words", 1_000))).final_text();
    }
    let conversation = bed.world.model.conversation();
    let heard = ["Solution one.", "Solution two."].map(|context| conversation.heard(context));
    assert_eq!(heard, [0, 1]);
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "compaction");
}

#[test]
fn a_summary_that_cannot_be_had_leaves_turns_out_with_a_note() {
    let too_long = || http_error(400, json!({ "code": "context_length_exceeded" }), &[]);
    for (name, reply) in [
        ("refused", http_error(400, json!({ "code": "invalid_value", "param": "model" }), &[])),
        ("failing", http_error(500, json!({}), &[])),
        ("silent", Reply::Silence),
        ("empty", says(Vec::new()).into()),
        ("too long at any length", too_long()),
        ("a refusal of the model", says(vec![Item::Refusal("No.".to_owned())]).into()),
    ] {
        let bed = Bed::new();
        let reply = Rc::new(reply);
        bed.world.model.think(move |conversation| {
            match conversation.user_texts().last().is_some_and(|text| is_record(text)) {
                true => (*reply).clone(),
                false => planned(conversation),
            }
        });
        bed.world.model.narrow(8_000, too_long());
        let mut noted = 0;
        for number in 1..=15 {
            let id = format!("t{number}");
            let words = long(&format!("Words{number}"), 1_000);
            let heard = bed.post(&turn(&id, &words));
            assert_eq!(heard.final_text(), format!("Answer to Words{number}."), "{name}");
            for made in compactions(&bed, &id) {
                noted += 1;
                assert_eq!(made["SummaryBytes"], 0, "{name}");
                let left_out = made["TurnsLeftOut"].as_u64().unwrap();
                let Said::User(note) = &newest_input(&bed)[1] else { panic!() };
                assert!(note.contains(&format!("{left_out} earlier turn")), "{name}: {note}");
            }
        }
        assert!(noted > 0, "{name}");
        bed.assert_chain_held();
        super::replays::assert_replays(&bed, "compaction");
    }
}

/// A service with a window, and what it was shown.
struct Windowed {
    bed: Bed,
    context: &'static str,
    window: usize,
}

impl Windowed {
    /// Posts a user turn of a random size with random client tools, and answers their calls.
    fn take_turn(&self, random: &mut Random, number: u64) -> String {
        let id = format!("t{number}");
        let room = self.window - 1_500;
        let size = match random.below(10) {
            0 => room,
            1..=3 => room / 2,
            _ => 200 + random.below(room as u64 / 8) as usize,
        };
        let plan = ["", "[plan: client] ", "[plan: server, client] ", "[plan: server] "]
            [random.below(4) as usize];
        let plan = if size > room / 2 { "" } else { plan };
        let marker = format!("Words{number}.");
        let words = long(&format!("{marker} {plan}"), size);
        let mut heard = self.bed.post(&turn_in(self.context, &id, &words));
        while heard.status == 200 && heard.result()["Kind"] == "client_tool_continuation" {
            let given: Vec<(String, Value)> = (heard.calls().into_iter())
                .map(|call| {
                    (call, json!("result ".repeat(random.below(self.window as u64 / 3) as usize)))
                })
                .collect();
            let given: Vec<(&str, Value)> =
                given.iter().map(|(id, value)| (id.as_str(), value.clone())).collect();
            heard = self.bed.post(&results(&id, &given));
        }
        assert_eq!(heard.final_text(), format!("Answer to {marker}."), "turn {number}");
        self.assert_newest_words(&words);
        self.assert_each_step_was_smaller(&id);
        id
    }

    /// Each call that followed a refusal for length sent less. The first one may go by the chain, whose length
    /// nobody here knows.
    fn assert_each_step_was_smaller(&self, turn: &str) {
        let trace = self.bed.asked("GET", &format!("/sessions/s/turns/{turn}/trace"), "");
        let calls = trace.result()["ModelCalls"].as_array().unwrap();
        let mut refused = None;
        for call in calls.iter().filter(|call| call["Summary"] != true) {
            let bytes = call["BodyBytes"].as_u64().unwrap();
            assert!(refused.is_none_or(|refused| bytes < refused), "{turn}: {calls:#?}");
            let too_long = call["Fault"]["ErrorCode"] == "context_window_exceeded";
            refused = (too_long && call["PreviousResponseId"].is_null()).then_some(bytes);
        }
    }

    /// The model sees the newest words, whole and once.
    fn assert_newest_words(&self, words: &str) {
        let conversation = self.bed.world.model.conversation();
        let texts = conversation.user_texts();
        let whole = format!("[MODE: general]\n\n[INSTRUCTION]\n{words}");
        assert_eq!(texts.iter().filter(|text| **text == whole).count(), 1);
    }
}

#[test]
fn no_turn_that_fits_alone_stays_unanswered_in_a_long_random_session() {
    let long_tests = std::env::var_os("APTIX_LONG_TESTS").is_some();
    let (sessions, turns) = if long_tests { (40, 300) } else { (6, 60) };
    let alone = std::env::var("APTIX_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    for seed in alone.map_or(0..sessions, |seed| seed..seed + 1) {
        println!("APTIX_SEED={seed}");
        let mut random = Random(seed);
        let bed = Bed::new();
        let window = 6_000 + random.below(20_000) as usize;
        let forms = refusals();
        let (_, refusal) = forms[random.below(forms.len() as u64) as usize].clone();
        bed.world.model.narrow(window, refusal);
        let context = ["default", "replay"][random.below(2) as usize];
        if random.below(3) == 0 {
            bed.configure(|catalog| {
                catalog["AgentContexts"][context]["Compaction"] =
                    json!({ "Threshold": window / 6 });
            });
        }
        // Every kind of fault that a summary can have, and mostly none.
        let faults = Rc::new(RefCell::new(Random(seed + 1_000)));
        bed.world.model.think(move |conversation| {
            let asked = conversation.user_texts().last().is_some_and(|text| is_record(text));
            match faults.borrow_mut().below(if asked { 6 } else { 1 }) {
                1 => http_error(400, json!({ "code": "context_length_exceeded" }), &[]),
                2 => says(Vec::new()).into(),
                3 => http_error(503, json!({}), &[]),
                _ => planned(conversation),
            }
        });
        let windowed = Windowed { bed, context, window };
        for number in 1..=turns {
            windowed.take_turn(&mut random, number);
            match random.below(12) {
                0 => windowed.bed.restart(),
                1 => windowed.bed.world.model.forget(),
                _ => {}
            }
        }
        windowed.bed.assert_chain_held();
        let exported = windowed.bed.export();
        assert_eq!(exported["Result"]["Turns"].as_array().unwrap().len() as u64, turns);
    }
}

#[test]
fn each_call_that_follows_a_refusal_for_length_is_smaller() {
    let bed = Bed::new();
    let lengths: Rc<RefCell<BTreeMap<usize, Vec<usize>>>> = Rc::default();
    let (turn_number, kept) = (Rc::new(Cell::new(0)), Rc::clone(&lengths));
    let current = Rc::clone(&turn_number);
    // The service refuses everything but summaries, so every step of the ladder is taken.
    bed.world.model.think(move |conversation| {
        if conversation.user_texts().last().is_some_and(|text| is_record(text)) {
            return planned(conversation);
        }
        if current.get() < 10 {
            return planned(conversation);
        }
        let length = conversation.0.iter().map(|item| item.to_string().len()).sum();
        kept.borrow_mut().entry(current.get()).or_default().push(length);
        http_error(400, json!({ "code": "context_length_exceeded" }), &[])
    });
    for number in 0..12 {
        turn_number.set(number);
        let heard = bed.post(&turn(&format!("t{number}"), &long("Words", 2_000)));
        assert_eq!(heard.status, if number < 10 { 200 } else { 413 }, "{}", heard.text);
    }
    for lengths in lengths.borrow().values() {
        assert!(lengths.len() > 3, "{lengths:?}");
        // The first call goes by the chain; the conversation is then sent whole.
        assert!(lengths.windows(2).skip(1).all(|two| two[1] < two[0]), "{lengths:?}");
    }
}

#[test]
fn calls_before_a_compaction_item_are_sent_with_their_outputs() {
    let bed = compacted_by_the_service("replay");
    let model = &bed.world.model;
    let looks_up = |of: &str| call("lookup", json!({ "of": of }));
    let items = vec![Item::Reasoning, looks_up("a"), Item::Compaction, looks_up("b")];
    model.script([says(items).into(), say("One.").into(), say("Two.").into()]);
    bed.post(&turn_in("replay", "t1", "First")).final_text();
    let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "");
    assert_eq!(trace.result()["Compactions"][0]["ItemsAfter"], 3);
    bed.post(&turn_in("replay", "t2", "Second")).final_text();
    // A service that takes no ids of items back gets the same.
    model.rules.refuse_by(|body, _| {
        let has_id = |item: &Value| item["type"] != "compaction" && item["id"].is_string();
        let is_refused = body["input"].as_array().unwrap().iter().any(has_id);
        is_refused.then(|| http_error(400, json!({ "code": "odd_request" }), &[]))
    });
    let items =
        vec![Item::Reasoning, looks_up("c"), Item::Compaction, Item::Reasoning, looks_up("d")];
    model.script([says(items).into(), say("Three.").into(), say("Four.").into()]);
    bed.post(&turn_in("replay", "t3", "Third")).final_text();
    bed.post(&turn_in("replay", "t4", "Fourth")).final_text();
    let sent = bed.world.model.latest_body();
    assert!(sent.contains("compaction") && !sent.contains("Second"), "{sent}");
    bed.assert_chain_held();
    super::replays::assert_replays(&bed, "calls before a compaction item");
}

#[test]
fn what_a_compaction_item_stands_for_is_sent_again_when_the_item_leaves_the_conversation() {
    for context in ["default", "replay"] {
        let bed = compacted_by_the_service(context);
        bed.post(&turn_in(context, "t1", "One")).final_text();
        let items = vec![Item::Compaction, call("lookup", json!({ "of": "x" }))];
        bed.world.model.script([says(items).into()]);
        bed.world.model.rules.refuse_by(|_, items| {
            let is_refused = items.iter().any(|item| item["type"] == "function_call_output");
            let error = json!({ "code": "invalid_image", "param": "input" });
            is_refused.then(|| http_error(400, error, &[]))
        });
        assert_eq!(bed.post(&turn_in(context, "t2", "Two")).failure(), (502, "upstream_rejected"));
        assert_eq!(bed.post(&turn_in(context, "t3", "Three")).final_text(), "Answer to Three.");
        let conversation = bed.world.model.conversation();
        for word in ["One", "Two", "Three"] {
            assert_eq!(conversation.heard(&format!("[INSTRUCTION]\n{word}")), 1, "{word}");
        }
        super::replays::assert_replays(&bed, "compaction");
    }
}

#[test]
fn a_refusal_for_length_that_has_spent_the_budget_is_followed_by_no_summary() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Budget"] = json!({ "TurnTokens": 120 });
    });
    bed.post(&turn("t1", &long("One", 3_000))).final_text();
    let ending = Ending::Failed("context_length_exceeded");
    let spent = Answer { ending, failing_usage: true, ..says(Vec::new()) };
    bed.world.model.script([spent.into()]);
    let before = bed.world.model.requests();
    assert_eq!(bed.post(&turn("t2", "Two")).failure().1, "budget_exceeded");
    assert_eq!(bed.world.model.requests(), before + 1);
}

#[test]
fn a_rung_goes_back_to_no_compaction_item_that_has_left_the_conversation() {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    let bed = compacted_by_the_service("replay");
    let model = &bed.world.model;
    bed.post(&turn_in("replay", "t1", "One")).final_text();
    let looks_up = || call("lookup", json!({ "of": "x" }));
    let compacts = says(vec![Item::Compaction, looks_up()]);
    model.script([compacts.into(), says(vec![looks_up()]).into()]);
    // The second call is taken with its turn alone, and the third is too long even so.
    model.rules.refuse_by(|_, items| {
        let of = |kind: &str| items.iter().filter(|item| item["type"] == kind).count();
        let is_past = items.iter().any(|item| item.to_string().contains("One"));
        let code = match of("function_call_output") {
            0 => return None,
            1 if of("compaction") == 0 && !is_past => return None,
            1 => "odd_request",
            _ => "context_length_exceeded",
        };
        Some(http_error(400, json!({ "message": "Bad request.", "code": code }), &[]))
    });
    assert_eq!(bed.post(&turn_in("replay", "t2", "Two")).failure().1, "context_window_exceeded");
    for id in ["t3", "t4", "t5"] {
        let executor = &bed.world.executor;
        executor.set_now_ms(executor.now_ms() + DAY_MS);
        bed.post(&turn_in("replay", id, "More")).final_text();
        assert!(bed.world.model.latest_body().contains("One"), "{id}");
    }
    super::replays::assert_replays(&bed, "compaction");
}
