//! Tools that the model service runs by itself (interface §4, §8): what they leave in the conversation, in the
//! trace, in the text and among the files.

use aptix_edge::files::PresentedLink;
use aptix_edge::ports::FileFault;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::replays::assert_replays;
use super::watched;
use bed::*;

/// A picture of one point.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

fn searched() -> Item {
    Item::Hosted(json!({
        "type": "web_search_call", "status": "completed",
        "action": { "type": "search", "query": "canary-query" },
    }))
}

fn drawn(picture: &[u8]) -> Item {
    Item::Hosted(json!({
        "type": "image_generation_call", "status": "completed", "output_format": "png",
        "revised_prompt": "canary-prompt", "result": STANDARD.encode(picture),
    }))
}

fn cited(text: &str, pages: &[(&str, &str)]) -> Item {
    let page = |(url, title): &(&str, &str)| json!({ "type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 1 });
    Item::Cited(text.to_owned(), pages.iter().map(page).collect())
}

/// A session whose mode has hosted tools, and whose model answers with these items.
fn answering(bed: Bed, items: impl Fn() -> Vec<Item> + 'static) -> Bed {
    bed.configure(|catalog| {
        catalog["Modes"][0]["HostedTools"] =
            json!([{ "type": "web_search" }, { "type": "image_generation" }]);
    });
    bed.world.model.think(move |conversation| match conversation.outputs().is_empty() {
        true if conversation.heard("[plan:") > 0 => planned(conversation),
        _ => says(items()).into(),
    });
    bed
}

fn model_calls(bed: &Bed, turn: &str) -> Vec<Value> {
    let trace = bed.asked("GET", &format!("/sessions/s/turns/{turn}/trace"), "");
    assert!(!trace.text.contains("canary"), "{}", trace.text);
    trace.result()["ModelCalls"].as_array().unwrap().clone()
}

#[test]
fn citations_follow_the_text_and_a_stream_of_it_only_grows() {
    let pages = [("https://a.example/x", "A"), ("https://b.example", "B [1]")];
    let bed = answering(Bed::new(), move || {
        vec![Item::Reasoning, searched(), cited("See https://a.example/x.", &pages)]
    });
    let text = "See https://a.example/x.\n\nSources:\n\n- [B \\[1\\]](https://b.example)";
    assert_eq!(bed.post(&turn("t1", "One")).final_text(), text);
    let request = with(turn("t2", "Two"), json!({ "Streaming": true }));
    let frames = bed.post(&request).frames.unwrap();
    let (shown, result) = watched(&frames);
    assert_eq!((shown.as_str(), &result["Result"]["PrimaryOutputText"]), (text, &json!(text)));
    assert!(!frames.contains("discard"), "{frames}");
    let tools = &bed.world.model.bodies()[1]["tools"];
    let types: Vec<&Value> = tools.as_array().unwrap().iter().map(|tool| &tool["type"]).collect();
    assert_eq!(types[types.len() - 2..], ["web_search", "image_generation"]);
    let hosted = json!([{ "Type": "web_search_call", "Status": "completed" }]);
    assert_eq!(model_calls(&bed, "t2")[0]["HostedCalls"], hosted);
    bed.assert_chain_held();
    assert_replays(&bed, "hosted tools");
}

#[test]
fn no_list_of_sources_stands_beside_json_or_beside_calls() {
    let pages = [("https://a.example/x", "A")];
    let bed = answering(Bed::new(), move || vec![cited("{}", &pages)]);
    bed.configure(|catalog| {
        catalog["Modes"][0]["ModelParameters"] =
            json!({ "text": { "format": { "type": "json_object" } } });
    });
    assert_eq!(bed.post(&turn("t1", "One")).final_text(), "{}");

    let bed = Bed::new();
    let said = cited("Asking.", &pages);
    bed.world.model.script([says(vec![said, call("ask", json!({}))]).into()]);
    let heard = bed.post(&turn("t1", "One"));
    assert_eq!(heard.result()["ToolContinuationMessage"], "Asking.");
}

#[test]
fn items_of_hosted_tools_are_sent_again_in_replay_where_they_need_no_state() {
    let bed = answering(Bed::new(), || {
        let code = json!({ "type": "code_interpreter_call", "container_id": "c", "code": "1", "outputs": null, "status": "completed" });
        vec![Item::Reasoning, searched(), Item::Hosted(code), drawn(PNG), cited("Done.", &[])]
    });
    let replay = json!({ "ConversationContextId": "replay" });
    bed.post(&with(turn("t1", "One"), replay)).final_text();
    bed.post(&turn("t2", "Two")).final_text();
    let body = &bed.world.model.bodies()[1];
    let kinds: Vec<&str> =
        body["input"].as_array().unwrap().iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(kinds[2..6], ["reasoning", "web_search_call", "image_generation_call", "message"]);
    assert_eq!(body["input"][4]["result"], STANDARD.encode(PNG));
    bed.assert_chain_held();
    assert_replays(&bed, "hosted tools in replay");
}

#[test]
fn pictures_become_files_of_the_turn_whatever_interrupts_it() {
    let items = || vec![drawn(PNG), drawn(PNG), drawn(b"\xff\xd8\xffjpeg"), cited("Two.", &[])];
    let listed = |heard: &Heard, bed: &Bed| {
        let files = heard.result()["Files"].as_array().unwrap().clone();
        for file in &files {
            let url = file["Url"].as_str().unwrap();
            let (id, query) =
                url.strip_prefix("https://edge.localhost/files/").unwrap().split_once('?').unwrap();
            let link = PresentedLink::parse(id, query).unwrap().signed_with("signs links").unwrap();
            assert_eq!(bed.world.files.borrow()[&link.id.key()].len(), file["SizeBytes"]);
        }
        files
            .iter()
            .map(|file| [file["Name"].clone(), file["MimeType"].clone()])
            .collect::<Vec<_>>()
    };
    let expected = [["picture_1.png", "image/png"], ["picture_2.jpg", "image/jpeg"]];
    let request = turn("t1", "Draw [plan: server]");
    let bed = answering(Bed::new(), items);
    let heard = bed.post(&request);
    assert_eq!((heard.final_text(), heard.result().get("UserWarnings")), ("Two.", None));
    assert_eq!(listed(&heard, &bed), expected);
    assert_replays(&bed, "pictures");
    let (steps, writes) = (bed.disk.steps.get(), bed.disk.writes.get());
    let crashes = (1..=steps).map(Crash::AfterStep);
    for crash in crashes.chain((1..=writes).map(Crash::BeforeWrite)) {
        let bed = answering(Bed::with_crash(Some(crash)), items);
        assert_eq!(bed.try_post(&request), None, "{crash:?}");
        bed.restart();
        assert_eq!(listed(&bed.post(&request), &bed), expected, "{crash:?}");
    }
}

#[test]
fn a_turn_that_is_cancelled_while_its_pictures_are_kept_counts_its_call_once() {
    let mut cancelled = 0;
    for seed in 0..8 {
        let bed = answering(Bed::new(), || vec![drawn(PNG), cited("One.", &[])]);
        bed.world.shake(seed);
        let pending = bed.send(&turn("t1", "Draw"));
        bed.run_until(|bed| !bed.world.files.borrow().is_empty(), "a picture is kept");
        bed.try_cancel("t1").unwrap().result();
        let heard = bed.wait(&pending).unwrap();
        cancelled += usize::from(heard.status == 409);
        assert_eq!(model_calls(&bed, "t1").len(), 1, "seed {seed}: {}", heard.text);
        assert_eq!(bed.turn("t1").result()["Usage"]["TotalTokens"], 120, "seed {seed}");
    }
    assert!(cancelled > 0);
}

#[test]
fn a_picture_that_cannot_be_kept_costs_a_warning_and_not_the_answer() {
    let bed = answering(Bed::new(), || vec![drawn(b"no picture"), cited("Here.", &[])]);
    let not_kept = json!(["The model made a picture that could not be kept."]);
    assert_eq!(bed.post(&turn("t1", "One")).result()["UserWarnings"], not_kept);
    let bed = answering(Bed::new(), || vec![drawn(PNG), drawn(b"GIF89a"), cited("Here.", &[])]);
    bed.world.file_fault.set(Some(FileFault::Failed));
    let heard = bed.post(&turn("t1", "One"));
    assert_eq!((heard.final_text(), &heard.result()["UserWarnings"]), ("Here.", &not_kept));
    bed.world.file_fault.set(Some(FileFault::NoBucket));
    let no_place = json!(["The model made a picture, and this deployment has no place for files."]);
    assert_eq!(bed.post(&turn("t2", "Two")).result()["UserWarnings"], no_place);
    assert_replays(&bed, "pictures that were not kept");
    // A picture alone is an answer.
    let bed = answering(Bed::new(), || vec![drawn(PNG)]);
    let heard = bed.post(&turn("t1", "One"));
    assert_eq!((heard.final_text(), heard.result().get("UserWarnings")), ("", None));
}

#[test]
fn pictures_that_code_has_drawn_become_files_or_a_warning() {
    let code = |outputs: Value| {
        Item::Hosted(json!({
            "type": "code_interpreter_call", "status": "completed", "container_id": "c",
            "code": "canary-code", "outputs": outputs,
        }))
    };
    let image = |url: String| json!({ "type": "image", "url": url });
    let drawn = format!("data:image/png;base64,{}", STANDARD.encode(PNG));
    let logs = json!({ "type": "logs", "logs": "canary-log" });
    let bed = answering(Bed::new(), move || {
        vec![code(json!([logs, image(drawn.clone())])), cited("Here.", &[])]
    });
    let heard = bed.post(&turn("t1", "Draw"));
    assert_eq!((heard.final_text(), heard.result().get("UserWarnings")), ("Here.", None));
    let [file] = heard.result()["Files"].as_array().unwrap().as_slice() else {
        panic!("{}", heard.text)
    };
    assert_eq!(
        [&file["Name"], &file["MimeType"], &file["SizeBytes"]],
        [&json!("picture_1.png"), &json!("image/png"), &json!(PNG.len())]
    );
    let hosted = json!([{ "Type": "code_interpreter_call", "Status": "completed" }]);
    assert_eq!(model_calls(&bed, "t1")[0]["HostedCalls"], hosted);
    assert_replays(&bed, "pictures that code has drawn");

    // Nothing is fetched from an address that an output names.
    let elsewhere = image("https://files.example/plot.png".to_owned());
    let bed = answering(Bed::new(), move || {
        vec![code(json!([elsewhere, elsewhere])), cited("Here.", &[])]
    });
    let heard = bed.post(&turn("t1", "Draw"));
    let not_kept = json!(["The model made a picture that could not be kept."]);
    assert_eq!((heard.final_text(), &heard.result()["UserWarnings"]), ("Here.", &not_kept));
    assert_eq!(heard.result().get("Files"), None);
}
