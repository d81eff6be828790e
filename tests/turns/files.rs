//! Files in the results of server tools (interface §8; AGN-033 §6).

use aptix_edge::files::PresentedLink;
use aptix_edge::ports::FileFault;
use serde_json::{Value, json};

use bed::*;

const CONTENTS: &str = "canary-contents";

/// Each call makes a file of its own, and the one file that every call makes.
fn making_files(bed: Bed) -> Bed {
    bed.world.tools.think(|call| {
        let own = format!("{CONTENTS} of {}", call["ToolCallId"].as_str().unwrap());
        ToolAnswer::Json(json!({ "made": 2, "Files": [
            { "Name": "own.txt", "MimeType": "text/plain", "Text": own },
            { "Name": "same.bin", "MimeType": "application/x", "DataBase64": "AAEC" },
        ] }))
    });
    bed
}

/// The contents behind a reference.
fn behind(bed: &Bed, file: &Value) -> Vec<u8> {
    let url = file["Url"].as_str().unwrap();
    let (id, query) =
        url.strip_prefix("https://edge.localhost/files/").unwrap().split_once('?').unwrap();
    let link = PresentedLink::parse(id, query).unwrap().signed_with("signs links").unwrap();
    assert_eq!(link.name, file["Name"]);
    bed.world.files.borrow()[&link.id.key()].clone()
}

#[test]
fn the_response_lists_files_of_all_tools_and_iterations_in_order_and_equal_ones_once() {
    let bed = making_files(Bed::new());
    let heard = bed.post(&turn("t1", "Make [plan: two-servers, client, server]"));
    assert_eq!(heard.result().get("Files"), None, "a continuation hands out none");
    let heard = bed.post(&results("t1", &[(&heard.calls()[0], json!(1))]));
    let files = heard.result()["Files"].as_array().unwrap();
    let names: Vec<&Value> = files.iter().map(|file| &file["Name"]).collect();
    assert_eq!(names, ["own.txt", "same.bin", "own.txt", "own.txt"]);
    let ids: Vec<Value> =
        bed.world.tools.calls().iter().map(|call| call["ToolCallId"].clone()).collect();
    for (file, id) in [&files[0], &files[2], &files[3]].into_iter().zip(&ids) {
        let contents = behind(&bed, file);
        assert_eq!(
            String::from_utf8(contents).unwrap(),
            format!("{CONTENTS} of {}", id.as_str().unwrap())
        );
        // The bucket refuses the file that all make for a second, so the last tool runs later.
        let expires = file["ContentExpires"].as_str().unwrap();
        assert!(expires.starts_with("2026-01-09T03:04:0"), "{expires}");
    }
    assert_eq!(behind(&bed, &files[1]), [0, 1, 2]);
    // The model, the transcript and the client see references.
    let outputs = bed.world.model.conversation().outputs();
    let (_, output) = &outputs[0];
    let output: Value = serde_json::from_str(output).unwrap();
    assert_eq!((&output["made"], &output["Files"][0]), (&json!(2), &files[0]));
    let rows = ["conversation", "calls", "model_calls", "turns", "submissions"]
        .map(|table| json!(bed.disk.read(&format!("SELECT * FROM {table}"))).to_string());
    for text in [rows.concat(), heard.text, format!("{outputs:?}")] {
        assert!(text.contains("own.txt") && !text.contains(CONTENTS), "{text}");
    }
    // The next turn begins without files.
    assert_eq!(bed.post(&turn("t2", "Go on")).result().get("Files"), None);
}

#[test]
fn a_result_for_which_the_turn_has_no_room_hands_out_no_files() {
    let bed = Bed::new();
    bed.world.tools.think(|call| {
        let file =
            json!({ "Name": "own.txt", "MimeType": "text/plain", "Text": call["ToolCallId"] });
        ToolAnswer::Json(json!({ "long": "x".repeat(980_000), "Files": [file] }))
    });
    bed.world.model.script([says(vec![call("fragile", json!({})); 9]).into()]);
    let heard = bed.post(&turn("t1", "Make"));
    assert_eq!(heard.result()["Files"].as_array().unwrap().len(), 8);
    let outputs = bed.world.model.conversation().outputs();
    assert!(outputs[8].1.contains("more than 8000000 bytes"), "{}", outputs[8].1);
}

#[test]
fn files_for_which_the_turn_has_no_room_are_the_failure_of_their_tool() {
    let bed = Bed::new();
    bed.world.tools.think(|call| {
        let texts = (0..100).map(|number| format!("{number} of {}", call["ToolCallId"]));
        let file =
            |text: String| json!({ "Name": "own.txt", "MimeType": "text/plain", "Text": text });
        ToolAnswer::Json(json!({ "Files": texts.map(file).collect::<Vec<_>>() }))
    });
    bed.world.model.script([says(vec![call("fragile", json!({})); 11]).into()]);
    let heard = bed.post(&turn("t1", "Make"));
    assert_eq!(heard.result()["Files"].as_array().unwrap().len(), 1_000);
    let mut outputs = bed.world.model.conversation().outputs();
    outputs.retain(|(_, output)| output.contains("more than 1000 files"));
    assert_eq!(outputs.len(), 1);
}

#[test]
fn no_interruption_loses_a_file_or_lists_one_twice() {
    let names = |heard: &Heard| -> Vec<Value> {
        heard.result()["Files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["Name"].clone())
            .collect()
    };
    let request = turn("t1", "Make [plan: server, two-servers]");
    let bed = making_files(Bed::new());
    let whole = names(&bed.post(&request));
    assert_eq!(whole, ["own.txt", "same.bin", "own.txt", "own.txt"]);
    let (steps, writes) = (bed.disk.steps.get(), bed.disk.writes.get());
    let crashes = (1..=steps).map(Crash::AfterStep);
    for crash in crashes.chain((1..=writes).map(Crash::BeforeWrite)) {
        let bed = making_files(Bed::with_crash(Some(crash)));
        assert_eq!(bed.try_post(&request), None, "{crash:?}");
        bed.restart();
        let heard = bed.post(&request);
        assert_eq!(names(&heard), whole, "{crash:?}");
        for file in heard.result()["Files"].as_array().unwrap() {
            behind(&bed, file);
        }
    }
}

#[test]
fn a_file_that_cannot_be_stored_fails_the_tool_and_the_repeated_turn_stores_it() {
    let bed = making_files(Bed::new());
    bed.world.file_fault.set(Some(FileFault::Failed));
    let request = turn("t1", "Make [plan: server]");
    let heard = bed.post(&request);
    assert_eq!(heard.failure(), (500, "server_tool_failed"));
    assert!(heard.text.contains("its files could not be kept"), "{}", heard.text);
    assert!(!heard.text.contains(CONTENTS));
    bed.world.file_fault.set(None);
    let files = bed.post(&request).result()["Files"].clone();
    assert_eq!(files.as_array().unwrap().len(), 2);
    bed.assert_chain_held();
}

#[test]
fn a_file_that_the_bucket_refuses_for_a_moment_is_kept_and_its_tool_runs_once() {
    let bed = making_files(Bed::new());
    bed.world.file_fault.set(Some(FileFault::Failed));
    let running = bed.send(&turn("t1", "Make [plan: server]"));
    bed.run_until(|bed| bed.world.tools.calls().len() == 1, "the tool is called");
    let called_at = bed.world.executor.now_ms();
    bed.run_until(|bed| bed.world.executor.now_ms() > called_at, "the bucket is waited for");
    bed.world.file_fault.set(None);
    let heard = bed.wait(&running).unwrap();
    assert_eq!(heard.result()["Files"].as_array().unwrap().len(), 2);
    assert_eq!(bed.world.tools.calls().len(), 1);
}

#[test]
fn equal_files_of_one_answer_are_written_once_and_each_has_its_name() {
    let bed = Bed::new();
    bed.world.tools.think(|_| {
        let empty = |name: &str| json!({ "Name": name, "MimeType": "text/plain", "Text": "" });
        ToolAnswer::Json(json!({ "Files": [empty("a.py"), empty("b.py"), empty("c.py")] }))
    });
    let began_at = bed.world.executor.now_ms();
    let heard = bed.post(&turn("t1", "Make [plan: server]"));
    let told = heard.result()["ToolResults"].to_string();
    assert!(["a.py", "b.py", "c.py"].iter().all(|name| told.contains(name)), "{told}");
    assert_eq!(bed.world.files.borrow().len(), 1);
    assert!(bed.world.executor.now_ms() - began_at < 1000, "nothing was refused");
}

#[test]
fn erasing_a_session_deletes_and_counts_its_files_and_no_others() {
    let bed = making_files(Bed::new());
    bed.world.files.borrow_mut().insert("another/file".to_owned(), Vec::new());
    bed.post(&turn("t1", "Make [plan: server, server]")).final_text();
    assert_eq!(bed.world.files.borrow().len(), 4);

    bed.world.file_fault.set(Some(FileFault::Failed));
    assert_eq!(bed.try_erase().unwrap().failure(), (500, "internal"));
    assert_eq!(bed.status("t1"), "completed");

    bed.world.file_fault.set(None);
    assert_eq!(bed.try_erase().unwrap().result()["Files"], 3);
    assert_eq!(bed.world.files.borrow().keys().collect::<Vec<_>>(), ["another/file"]);
}

#[test]
fn a_file_that_is_made_while_its_session_is_erased_is_erased_too() {
    for seed in 1..=200 {
        let bed = making_files(Bed::new());
        bed.world.shake(seed);
        let running = bed.send(&turn("t1", "Make [plan: server, server]"));
        bed.run_until(|bed| bed.world.tools.calls().len() == 1, "a tool is called");
        let erased = bed.send_erase();
        // Another turn begins as soon as the first is stopped.
        let next = bed.send(&turn("t2", "Make [plan: server]"));
        bed.wait(&running);
        bed.wait(&erased).unwrap();
        bed.wait(&next);
        bed.settle();
        let session_lives = bed.session().status == 200;
        let files = bed.world.files.borrow().len();
        assert!(
            session_lives || files == 0,
            "seed {seed}: {files} files of a session that is gone"
        );
    }
}

#[test]
fn file_contents_in_the_final_text_bring_a_user_warning() {
    let bed = Bed::new();
    let data = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2w0".repeat(6);
    bed.world.model.script([
        say(&format!("Here: data:text/csv;base64,{data}")).into(),
        say(&format!("Here:\n\n```aptix-json\n{{\"Data\":\"{data}\"}}\n```")).into(),
    ]);
    let open = bed.post(&turn("t1", "Send it"));
    let warnings = open.result()["UserWarnings"].as_array().unwrap();
    assert!(warnings[0].as_str().unwrap().contains("contents of a file"), "{warnings:?}");
    assert_eq!(open.final_text(), format!("Here: data:text/csv;base64,{data}"));
    assert_eq!(bed.post(&turn("t2", "Send it well")).result().get("UserWarnings"), None);
}

/// A picture of 8 bytes, as base64.
const PICTURE: &str = "iVBORw0KGgo=";

/// Both kinds of tools give the picture: an MCP server as an image, an HTTP tool as a content part.
fn giving_pictures(bed: Bed) -> Bed {
    bed.configure(|catalog| {
        catalog["McpServers"]["docs"] = json!({ "Url": "https://docs.example/mcp" });
        catalog["Modes"][0]["Tools"] = json!(["lookup", "docs/*"]);
    });
    bed.world.mcp.think(|_, _| {
        let image = json!({ "type": "image", "mimeType": "image/png", "data": PICTURE });
        json!({ "content": [{ "type": "text", "text": "Seen." }, image] })
    });
    bed.world.tools.think(|_| {
        ToolAnswer::Json(json!([
            { "type": "input_image", "detail": "low", "image_url": format!("data:image/png;base64,{PICTURE}") },
            { "type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg==" },
            { "type": "input_text", "text": "Both." },
        ]))
    });
    bed
}

/// The server tools' results as the client is shown them.
fn shown(heard: &Heard) -> Vec<Value> {
    let results = heard.result()["ToolResults"].as_array().unwrap();
    let json =
        |result: &Value| serde_json::from_str(result["ResultJson"].as_str().unwrap()).unwrap();
    results.iter().map(json).collect()
}

#[test]
fn contents_in_the_parts_of_a_result_are_the_model_s_and_clients_are_shown_references() {
    let bed = giving_pictures(Bed::new());
    let request = turn("t1", "Show [plan: mcp, server]");
    let heard = bed.post(&request);
    let files = heard.result()["Files"].as_array().unwrap();
    let names: Vec<&Value> = files.iter().map(|file| &file["Name"]).collect();
    assert_eq!(names, ["picture_1.png", "a.pdf"], "equal contents once");
    assert_eq!(behind(&bed, &files[0]), b"\x89PNG\r\n\x1a\n");
    assert_eq!(behind(&bed, &files[1]), b"%PDF");
    assert_eq!(
        shown(&heard),
        [
            json!([{ "type": "input_text", "text": "Seen." }, { "type": "input_image", "File": files[0] }]),
            json!([
                { "type": "input_image", "detail": "low", "File": files[0] },
                { "type": "input_file", "filename": "a.pdf", "File": files[1] },
                { "type": "input_text", "text": "Both." },
            ]),
        ]
    );
    assert_eq!(heard.result().get("UserWarnings"), None);
    for (_, output) in bed.world.model.conversation().outputs() {
        assert!(output.contains(&format!("data:image/png;base64,{PICTURE}")), "{output}");
    }
    let again = bed.post(&request);
    assert_eq!((again.replayed, &again.text), (true, &heard.text));
    super::replays::assert_replays(&bed, "contents in parts");
    assert_eq!(bed.try_erase().unwrap().result()["Files"], 2);
}

#[test]
fn contents_that_cannot_be_kept_are_shown_by_their_type_and_size_and_fail_nothing() {
    for fault in [FileFault::NoBucket, FileFault::Failed] {
        let bed = giving_pictures(Bed::new());
        bed.world.file_fault.set(Some(fault));
        let heard = bed.post(&turn("t1", "Show [plan: mcp, server]"));
        assert_eq!(heard.result().get("Files"), None);
        let picture = json!({ "MimeType": "image/png", "SizeBytes": 8 });
        assert_eq!(shown(&heard)[0][1], json!({ "type": "input_image", "File": picture }));
        let text = json!({ "MimeType": "application/pdf", "SizeBytes": 4 });
        assert_eq!(shown(&heard)[1][1]["File"], text);
        assert!(!heard.text.contains("base64"), "{}", heard.text);
        bed.assert_chain_held();
        super::replays::assert_replays(&bed, "contents that were not kept");
    }
}

#[test]
fn contents_under_a_name_of_the_tool_s_own_bring_a_user_warning() {
    let bed = Bed::new();
    bed.world.tools.think(|_| {
        ToolAnswer::Json(json!({ "chart": { "png": format!("data:image/png;base64,{PICTURE}") } }))
    });
    let heard = bed.post(&turn("t1", "Show [plan: two-servers]"));
    let warning = "The result of the tool lookup carries the contents of a file in its text.";
    assert_eq!(heard.result()["UserWarnings"], json!([warning]));
    assert!(shown(&heard)[0]["chart"]["png"].as_str().unwrap().ends_with(PICTURE));
}

#[test]
fn contents_in_a_text_beside_calls_bring_the_warning_that_a_final_text_gets_once() {
    let contents = format!("See data:image/png;base64,{PICTURE}");
    for last in ["Done.", &contents] {
        let bed = Bed::new();
        let said = Item::Text(vec![contents.clone()]);
        bed.world.model.script([
            says(vec![said, call("ask", json!({}))]).into(),
            says(vec![Item::Text(vec![last.to_owned()])]).into(),
        ]);
        let paused = bed.post(&turn("t1", "Show"));
        assert_eq!(paused.result()["ToolContinuationMessage"], contents);
        let heard = bed.post(&results("t1", &[(&paused.calls()[0], json!(1))]));
        let warning = "The answer carries the contents of a file in its text. They may be cut or changed; ask for the file itself.";
        assert_eq!(heard.result()["UserWarnings"], json!([warning]), "{last}");
    }
}
