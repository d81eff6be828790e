//! The messages of a turn: its blocks, artifacts, images and retrieved chunks.

use aptix_edge::catalog::RetrievalSource;
use aptix_edge::composition::{
    Block, ComposedMessages, ModelRequest, RetrievedMaterial, TurnMaterial, add_retrieved,
};
use aptix_edge::retrieval::{Chunk, Retrieved};
use serde_json::{Value, json};

use super::{artifact, composed, continued, instruction, later, raw, sent, user_turn};

fn base64_artifact(name: &str, mime: Option<&str>, contents: &str) -> Value {
    let mut artifact = artifact("assets", name, contents);
    artifact["Encoding"] = json!("base64");
    if let Some(mime) = mime {
        artifact["MimeType"] = json!(mime);
    }
    artifact
}

/// The messages of a turn with what was retrieved in 7 ms, and their trace.
fn with_retrieved(
    mut turn: ComposedMessages,
    retrieved: &Retrieved,
) -> (ComposedMessages, Vec<Value>) {
    let trace = serde_json::value::to_raw_value(&turn.trace).unwrap();
    let added = add_retrieved(&RetrievedMaterial {
        user: &raw(&turn.user),
        trace: &trace,
        chunks_end: turn.chunks_end,
        source: &RetrievalSource::Index,
        retrieved,
        duration_ms: 7,
    })
    .unwrap();
    turn.user = added.user.unwrap().get().to_owned();
    (turn, serde_json::from_str(added.trace.get()).unwrap())
}

#[test]
fn a_turn_without_an_instruction_opens_with_its_mode_alone() {
    let turn = user_turn(json!({ "InputArtifacts": [artifact("", "a.rs", "")] }));
    let turn = composed(&turn, &TurnMaterial { is_first: true, ..later() });
    sent(
        "without_an_instruction",
        &ModelRequest { previous_response_id: None, ..continued() },
        &turn,
    );
}

#[test]
fn a_solution_context_that_has_changed_is_sent_again() {
    let material = TurnMaterial { solution_context: Some("Three crates now."), ..later() };
    let turn = composed(&instruction("And now?"), &material);
    sent("solution_context_changed", &continued(), &turn);
}

#[test]
fn each_kind_of_artifact_goes_out_in_the_form_that_the_model_can_read() {
    let mut given = artifact("web", "page.txt", "<p>é</p>");
    given["Language"] = json!("html");
    let turn = user_turn(json!({ "InputArtifacts": [
        given,
        artifact("src", "b.py", "x = 1"),
        artifact("", "LICENSE", "MIT"),
        base64_artifact("a.png", Some("image/png"), "iVBORw0KGgo="),
        base64_artifact("photo.JPG", None, "/9j/4AA="),
        base64_artifact("paper.pdf", Some("application/pdf"), "JVBERi0="),
        base64_artifact("notes.md", None, "IyBIaQo="),
        base64_artifact("tool.exe", Some("application/octet-stream"), "TVqQAAM="),
        base64_artifact("vector.svg", Some("image/svg+xml"), "PHN2Zy8+"),
        base64_artifact("scan.tiff", Some("image/tiff"), "SUkqAP8="),
    ] }));
    let turn = composed(&turn, &later());
    sent("artifact_kinds", &continued(), &turn);

    let why = "it is neither text nor an image (PNG, JPEG, WebP, GIF) nor a PDF.";
    assert_eq!(
        turn.user_warnings,
        [
            format!("assets/tool.exe was left out: {why}"),
            format!("assets/scan.tiff was left out: {why}"),
        ]
    );
    let left_out = "binary content the model cannot read";
    for path in ["assets/tool.exe", "assets/scan.tiff"] {
        let block = Block::left_out("chunk", format!("InputArtifacts: {path}"), left_out);
        assert!(turn.trace.contains(&block), "{:?}", turn.trace);
    }
}

#[test]
fn a_picture_or_a_document_without_bytes_is_an_empty_file_to_the_model() {
    let turn = user_turn(json!({ "InputArtifacts": [
        base64_artifact("a.png", Some("image/png"), ""),
        base64_artifact("b.pdf", None, ""),
    ] }));
    let turn = composed(&turn, &later());
    assert!(!turn.user.contains("base64,") && turn.user_warnings.is_empty(), "{}", turn.user);
    for path in ["assets/a.png", "assets/b.pdf"] {
        let block = Block::sent("chunk", format!("InputArtifacts: {path}"), 0);
        assert!(turn.trace.contains(&block), "{:?}", turn.trace);
    }
}

#[test]
fn chunks_are_numbered_throughout_and_no_text_can_close_its_fence() {
    let turn = user_turn(json!({
        "Instruction": "Compare.",
        "InputArtifacts": [
            artifact("docs/", "how.md", "```rust\nlet a;\n````\n"),
            artifact("docs/how.md", "how.md", "plain"),
        ],
    }));
    let chunks = vec![
        Chunk {
            path: "src/lib.rs".to_owned(),
            start_line: 40,
            end_line: 41,
            language: "rust".to_owned(),
            text: "/// ```\n/// x".to_owned(),
            ..Chunk::default()
        },
        Chunk {
            path: "src/main.cs".to_owned(),
            start_line: 7,
            end_line: 7,
            language: "csharp".to_owned(),
            text: "}".to_owned(),
            ..Chunk::default()
        },
    ];
    let retrieved = Retrieved { chunks, ..Retrieved::default() };
    let (turn, trace) = with_retrieved(composed(&turn, &later()), &retrieved);
    sent("chunks_and_fences", &continued(), &turn);
    let retrieval = Block {
        duration_ms: Some(7),
        ..Block::sent("retrieval", "AgentContext.Retrieval.Index", 14)
    };
    assert_eq!(
        trace[3..8],
        [
            Block::sent("chunk", "InputArtifacts: docs/how.md", 20),
            Block::sent("chunk", "InputArtifacts: docs/how.md", 5),
            retrieval,
            Block::sent("chunk", "retrieval: src/lib.rs", 13),
            Block::sent("chunk", "retrieval: src/main.cs", 1),
        ]
        .map(|block| serde_json::to_value(block).unwrap())
    );
    assert_eq!(trace[8]["Block"], "solution_context");
}

#[test]
fn a_retrieved_chunk_is_shown_as_if_the_request_had_brought_it() {
    let asked = |artifacts: Value| {
        user_turn(json!({
            "Instruction": "Compare \"ä\u{2028}\" and \\ too.",
            "InputArtifacts": artifacts,
            "ClipboardImages": [{ "Id": "i", "MimeType": "image/png", "DataBase64": "AAAA" }],
        }))
    };
    let first = artifact("docs", "a.md", "# A \"quoted\"\n\tone\n");
    let second = artifact("docs", "b.md", "B\n");
    let chunk = |path: &str, lines, text: &str| Chunk {
        path: path.to_owned(),
        start_line: 1,
        end_line: lines,
        language: "markdown".to_owned(),
        text: text.to_owned(),
        ..Chunk::default()
    };
    let both = [chunk("docs/a.md", 2, "# A \"quoted\"\n\tone\n"), chunk("docs/b.md", 1, "B\n")];
    let material = TurnMaterial { solution_context: Some("S"), ..later() };
    let whole = composed(&asked(json!([first, second])), &material);
    for (brought, found) in [(json!([first]), &both[1..]), (json!([]), &both[..])] {
        let retrieved = Retrieved { chunks: found.to_vec(), ..Retrieved::default() };
        let (turn, _) = with_retrieved(composed(&asked(brought), &material), &retrieved);
        assert_eq!(turn.user, whole.user);
    }
}
