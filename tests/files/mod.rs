//! Files in a tool's result (interface §8; AGN-033 §6): the bucket keeps the contents, and a reference
//! takes their place.

use aptix_edge::encoding::sha256_hex;
use aptix_edge::files::{
    FileFailure, FileLinks, OutputFile, PresentedLink, embeds_contents_of_its_own, keep_files,
    keep_part_contents, without_part_contents,
};
use aptix_edge::ports::FileFault;
use bed::LoneStep;
use serde_json::{Value, json};

fn kept(step: &LoneStep, given: &str) -> Result<(String, Vec<OutputFile>), FileFailure> {
    let links = FileLinks { origin: "https://edge.example", ttl_s: 60 };
    step.run(keep_files(&step.platform, links, given.to_owned()))
}

fn with_key() -> LoneStep {
    LoneStep::default().with_secret("FILE_LINK_KEY", "k")
}

/// Why a tool fails whose result has that file.
fn problem(file: Value) -> String {
    let given = json!({ "Files": [{ "Name": "ok", "MimeType": "a/b", "Text": "" }, file] });
    let step = with_key();
    let problem = kept(&step, &given.to_string()).unwrap_err().to_string();
    assert!(step.files().is_empty(), "a file beside a malformed one was kept");
    problem
}

#[test]
fn contents_are_kept_by_their_bytes_and_a_reference_takes_their_place() {
    let step = with_key();
    let given = r#"{ "rows": 2.0, "Files": [
        {"Name": "a.csv", "MimeType": "text/csv", "Text": "x\r\ny", "Extra": 1},
        {"Description": "Pixels.", "DataBase64": "AAEC/w", "Name": "p", "MimeType": "image/png"}
    ], "done":true }"#;
    let (result, files) = kept(&step, given).unwrap();
    let [text, image] = files.as_slice() else { panic!("{files:?}") };
    let references = serde_json::to_string(&[&text.reference, &image.reference]).unwrap();
    // Every byte around the list stays.
    assert_eq!(result, format!("{{ \"rows\": 2.0, \"Files\": {references}, \"done\":true }}"));
    assert_eq!(text.reference.size_bytes, 4);
    assert_eq!(text.reference.content_hash, sha256_hex(b"x\ny\n"));
    assert_eq!(text.reference.content_expires.as_deref(), Some("1970-01-01T00:01:00.000Z"));
    assert_eq!(image.reference.content_hash, sha256_hex(&[0, 1, 2, 255]));
    assert_eq!(image.reference.description.as_deref(), Some("Pixels."));
    assert_eq!(image.sha256.as_deref(), Some(image.reference.content_hash.as_str()));
    for (file, contents) in [(text, b"x\r\ny".as_slice()), (image, &[0, 1, 2, 255])] {
        let target = file.reference.url.strip_prefix("https://edge.example/files/").unwrap();
        let (id, query) = target.split_once('?').unwrap();
        let link = PresentedLink::parse(id, query).unwrap().signed_with("k").unwrap();
        assert_eq!(link.name, file.reference.name);
        assert_eq!(link.mime_type, file.reference.mime_type);
        assert_eq!(link.expires_at, 60);
        assert_eq!(step.files().get(&link.id.key()).unwrap(), contents);
    }
}

#[test]
fn only_contents_in_parts_are_taken_for_files_and_the_rest_of_a_result_stays_as_it_is() {
    let links = FileLinks { origin: "https://edge.example", ttl_s: 60 };
    let step = with_key();
    let given = r#"[ {"type":"input_file","n": 1.0,"file_data":"AAEC","filename":"a\nb"},
        {"type":"input_image","image_url":"data:image\/svg+xml;charset=utf-8;base64,AAEC"},
        {"type":"input_image","image_url":"data:;base64,AAED"},
        {"type":"input_text","text":"data:image/png;base64,AAEC"},
        {"type":"input_image","image_url":"https://a.example/data:a/b;base64,AAEC"},
        {"type":"input_image","image_url":"data:text/plain,hello"},
        {"type":"input_image","image_url":"data:image/png;base64,A"}, 7, "x" ]"#;
    let files = step.run(keep_part_contents(&step.platform, links, given, 4, 10));
    let names: Vec<(&str, &str)> = files
        .iter()
        .map(|file| (file.reference.name.as_str(), file.reference.mime_type.as_str()))
        .collect();
    let unknown = "application/octet-stream";
    assert_eq!(
        names,
        [("file_5.bin", unknown), ("picture_6.bin", "image/svg+xml"), ("file_7.bin", unknown)]
    );
    let shown = step.run(without_part_contents(&step.platform, &files, given)).unwrap();
    let reference = |file: &OutputFile| serde_json::to_string(&file.reference).unwrap();
    let first = reference(&files[0]);
    assert_eq!(
        shown,
        format!(
            r#"[{{"type":"input_file","n":1.0,"File":{first},"filename":"a\nb"}},{{"type":"input_image","File":{first}}},{{"type":"input_image","File":{}}},{{"type":"input_text","text":"data:image/png;base64,AAEC"}},{{"type":"input_image","image_url":"https://a.example/data:a/b;base64,AAEC"}},{{"type":"input_image","image_url":"data:text/plain,hello"}},{{"type":"input_image","image_url":"data:image/png;base64,A"}},7,"x"]"#,
            reference(&files[2])
        )
    );
    // No more are kept than may be, and the others are shown without a link.
    assert_eq!(step.run(keep_part_contents(&step.platform, links, given, 0, 1)).len(), 1);
    let shown = step.run(without_part_contents(&step.platform, &[], given)).unwrap();
    assert!(shown.contains(r#""File":{"MimeType":"image/svg+xml","SizeBytes":3}"#), "{shown}");
    for without in ["[]", "{}", "", "[1", r#"[{"type":"input_text","text":"a"}]"#] {
        assert_eq!(step.run(without_part_contents(&step.platform, &[], without)), None);
    }
}

#[test]
fn contents_under_another_name_are_found_at_any_depth() {
    let long = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2w0".repeat(6);
    for (result, embeds) in [
        (json!({ "a": [{ "b": "data:image/png;base64,AAEC" }] }), true),
        (json!([long]), true),
        (json!(long), true),
        (json!({ long: "a name is no contents" }), false),
        (json!({ "a": [1, null, true, "text"] }), false),
    ] {
        assert_eq!(embeds_contents_of_its_own(&result.to_string()), embeds, "{result}");
    }
    assert!(!embeds_contents_of_its_own("no JSON"));
}

#[test]
fn a_file_kept_elsewhere_is_passed_on_as_the_tool_describes_it() {
    let hash = "AB".repeat(32);
    let given = json!({ "Files": [{
        "Name": "big.iso", "MimeType": "application/octet-stream", "SizeBytes": 5_000_000_000_u64,
        "Url": "https://cdn.example/big.iso?s=1", "ContentHash": hash,
        "ContentExpires": "2026-01-02T03:04:05.5+01:00",
    }] });
    // It needs no bucket.
    let (_, files) = kept(&LoneStep::default(), &given.to_string()).unwrap();
    let file = &files[0];
    assert_eq!(file.reference.url, "https://cdn.example/big.iso?s=1");
    assert_eq!(file.reference.size_bytes, 5_000_000_000);
    assert_eq!(file.reference.content_hash, hash);
    assert_eq!(file.reference.content_expires.as_deref(), Some("2026-01-02T03:04:05.5+01:00"));
    assert_eq!(file.sha256, None);
}

#[test]
fn any_other_value_under_files_belongs_to_the_tool() {
    for given in [
        "[]",
        "[{\"Files\":1}]",
        "\"Files\"",
        "{}",
        "{\"Files\":null}",
        "{\"Files\": []}",
        "{\"Files\":\"a\"}",
        "{\"Files\":{\"Name\":\"a\"}}",
        "{\"Files\":[\"src/a.rs\", {\"Name\":\"b\"}]}",
        "{\"files\":[{\"Name\":\"b\"}]}",
        " {\"a\":{\"Files\":[{}]}}",
        "{\"a\\ud800\":1}",
    ] {
        assert_eq!(kept(&LoneStep::default(), given), Ok((given.to_owned(), Vec::new())));
    }
}

#[test]
fn a_malformed_file_is_named_with_its_rule_and_never_repeated() {
    let text = |members: Value| {
        let mut file = json!({ "Name": "a", "MimeType": "text/plain", "Text": "secret" });
        file.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        problem(file)
    };
    let elsewhere = |members: Value| {
        let mut file = json!({
            "Name": "a", "MimeType": "a/b", "Url": "https://x.example/a", "SizeBytes": 1,
            "ContentHash": "0".repeat(64)
        });
        file.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        problem(file)
    };
    for (told, expected) in [
        (text(json!({ "Name": null })), ".Name must be a text of 1 to 255 characters"),
        (text(json!({ "Name": 7 })), ".Name must be a text of 1 to 255 characters"),
        (text(json!({ "Name": "" })), ".Name must be a text of 1 to 255 characters"),
        (text(json!({ "Name": "ä".repeat(256) })), ".Name must be a text of 1 to 255 characters"),
        (text(json!({ "Name": "a\nb" })), ".Name must be a text of 1 to 255 characters"),
        (text(json!({ "MimeType": "text" })), ".MimeType must be a media type"),
        (text(json!({ "MimeType": "a/b\nc" })), ".MimeType must be a text of 1"),
        (text(json!({ "Description": 1 })), ".Description must be a text"),
        (text(json!({ "Text": 1 })), ".Text must be a text"),
        (text(json!({ "Text": null })), " must have exactly one of Text, DataBase64 and Url"),
        (text(json!({ "DataBase64": "AA==" })), " must have exactly one of Text"),
        (text(json!({ "Url": "https://x.example" })), " must have exactly one of Text"),
        (text(json!({ "Text": null, "DataBase64": "A" })), ".DataBase64 must be base64"),
        (text(json!({ "Text": null, "DataBase64": "data:a/b;base64,AA==" })), ".DataBase64 must"),
        (elsewhere(json!({ "Url": "data:text/plain,secret" })), ".Url must be an absolute http"),
        (elsewhere(json!({ "Url": "javascript:secret" })), ".Url must be an absolute http"),
        (elsewhere(json!({ "Url": "/a" })), ".Url must be an absolute http"),
        (elsewhere(json!({ "Url": "https://" })), ".Url must be an absolute http"),
        (elsewhere(json!({ "Url": "https://x.example/a b" })), ".Url must be an absolute http"),
        (elsewhere(json!({ "Url": "https:///x" })), ".Url must be an absolute http"),
        (elsewhere(json!({ "Url": "https://x\"><script>" })), ".Url must be an absolute http"),
        (elsewhere(json!({ "Url": "https://x\u{202e}y" })), ".Url must be a text of"),
        (text(json!({ "Name": "invoice\u{202e}fdp.exe" })), ".Name must be a text of"),
        (text(json!({ "Name": "a\u{2028}b" })), ".Name must be a text of"),
        (elsewhere(json!({ "ContentExpires": "2026-13-02T03:04:05Z" })), ".ContentExpires must"),
        (elsewhere(json!({ "ContentExpires": "2026-01-02T24:04:05Z" })), ".ContentExpires must"),
        (elsewhere(json!({ "ContentExpires": "2026-01-02T03:04:05+" })), ".ContentExpires must"),
        (elsewhere(json!({ "ContentExpires": "2026-01-02T03:04:05-.Z" })), ".ContentExpires must"),
        (elsewhere(json!({ "SizeBytes": null })), ".SizeBytes must be a whole number"),
        (elsewhere(json!({ "SizeBytes": -1 })), ".SizeBytes must be a whole number"),
        (elsewhere(json!({ "SizeBytes": 1.5 })), ".SizeBytes must be a whole number"),
        (elsewhere(json!({ "ContentHash": null })), ".ContentHash must be 1 to 128"),
        (elsewhere(json!({ "ContentHash": "" })), ".ContentHash must be 1 to 128"),
        (elsewhere(json!({ "ContentHash": "0".repeat(129) })), ".ContentHash must be 1 to 128"),
        (elsewhere(json!({ "ContentHash": "a b" })), ".ContentHash must be 1 to 128"),
        (elsewhere(json!({ "ContentExpires": "tomorrow" })), ".ContentExpires must be like"),
        (elsewhere(json!({ "ContentExpires": "2026-01-02T03:04:05" })), ".ContentExpires must"),
        (elsewhere(json!({ "ContentExpires": "2026-01-02 03:04:05Z" })), ".ContentExpires must"),
    ] {
        let expected = format!("its answer's Files[1]{expected}");
        assert!(told.starts_with(&expected) && !told.contains("secret"), "{told} / {expected}");
    }
    let many = json!({ "Files": vec![json!({}); 101] }).to_string();
    let many = kept(&with_key(), &many).unwrap_err().to_string();
    assert_eq!(many, "its answer's Files has more than 100 entries");
    let twice = kept(&with_key(), "{\"Files\":[{}],\"Files\":[{}]}").unwrap_err().to_string();
    assert_eq!(twice, "its answer's Files is there more than once");
    let twice = "{\"Files\":[{\"Name\":\"a\",\"Name\":\"b\"}]}";
    let twice = kept(&with_key(), twice).unwrap_err().to_string();
    assert_eq!(twice, "its answer's Files[0] has a member more than once");
}

#[test]
fn a_file_that_cannot_be_kept_is_the_tool_s_failure() {
    let given = r#"{"Files":[{"Name":"a","MimeType":"a/b","Text":"x"}]}"#;
    let failure = |step: &LoneStep| kept(step, given).unwrap_err();
    assert_eq!(failure(&LoneStep::default()), FileFailure::NoPlace);
    let empty = LoneStep::default().with_secret("FILE_LINK_KEY", "");
    assert_eq!(failure(&empty), FileFailure::NoPlace);
    let unbound = with_key().with_file_fault(FileFault::NoBucket);
    assert_eq!(failure(&unbound), FileFailure::NoPlace);
    assert_eq!(failure(&with_key().with_file_fault(FileFault::Failed)), FileFailure::NotKept);
}
