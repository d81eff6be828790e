//! `GET /files/{FileId}` (interface §8): ranges, entity tags, and links that are refused.

use aptix_edge::ports::FileFault;
use bed::*;
use serde_json::json;

/// A session whose tool made a file of ten bytes, and the target of its link.
fn with_file() -> (Bed, String) {
    let bed = Bed::new();
    bed.world.tools.think(|_| {
        let file = json!({ "Name": "a b.txt", "MimeType": "text/plain", "Text": "0123456789" });
        ToolAnswer::Json(json!({ "Files": [file] }))
    });
    let heard = bed.post(&turn("t", "Make [plan: server]"));
    let url = heard.result()["Files"][0]["Url"].as_str().unwrap().to_owned();
    (bed, url.strip_prefix("https://edge.localhost").unwrap().to_owned())
}

fn got(bed: &Bed, method: &str, target: &str, headers: &[(&str, &str)]) -> Heard {
    bed.wait(&bed.ask(method, target, headers, "")).unwrap()
}

#[test]
fn a_file_is_given_whole_in_part_or_not_again() {
    let (bed, target) = with_file();
    let whole = got(&bed, "GET", &target, &[]);
    assert_eq!((whole.status, whole.text.as_str()), (200, "0123456789"));
    assert_eq!(whole.headers["Content-Type"], "text/plain; charset=utf-8");
    assert!(whole.headers["Content-Disposition"].starts_with("attachment; filename=\"a b.txt\""));
    let tag = whole.headers["ETag"].as_str();
    for (headers, status, text, range) in [
        (vec![("Range", "bytes=2-4")], 206, "234", Some("bytes 2-4/10")),
        (vec![("Range", "bytes=-3")], 206, "789", Some("bytes 7-9/10")),
        (vec![("Range", "bytes=20-")], 416, "", Some("bytes */10")),
        (vec![("Range", "lines=1-2")], 200, "0123456789", None),
        (vec![("Range", "bytes=2-4"), ("If-Range", tag)], 206, "234", Some("bytes 2-4/10")),
        (vec![("Range", "bytes=2-4"), ("If-Range", "\"other\"")], 200, "0123456789", None),
        (vec![("If-None-Match", tag)], 304, "", None),
        (vec![("If-None-Match", tag), ("Range", "bytes=2-4")], 304, "", None),
        (vec![("If-None-Match", "\"other\"")], 200, "0123456789", None),
    ] {
        let heard = got(&bed, "GET", &target, &headers);
        assert_eq!((heard.status, heard.text.as_str()), (status, text), "{headers:?}");
        assert_eq!(heard.headers.get("Content-Range").map(String::as_str), range, "{headers:?}");
        assert_eq!(heard.headers["ETag"], tag);
    }
    let head = got(&bed, "HEAD", &target, &[("Range", "bytes=2-4")]);
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(head.headers["Content-Length"], "10");
}

#[test]
fn a_link_begins_with_the_deployment_s_public_url_whatever_host_the_client_names() {
    let bed = Bed::new();
    bed.deploy("PUBLIC_URL", "https://agent.example.com");
    bed.world.tools.think(|_| {
        let file = json!({ "Name": "a", "MimeType": "text/plain", "Text": "0" });
        ToolAnswer::Json(json!({ "Files": [file] }))
    });
    let body = turn("t", "Make [plan: server]").to_string();
    let heard =
        bed.wait(&bed.ask("POST", "/execute", &[("Host", "evil.localhost")], &body)).unwrap();
    let url = heard.result()["Files"][0]["Url"].as_str().unwrap();
    assert!(url.starts_with("https://agent.example.com/files/"), "{url}");
    assert!(!heard.text.contains("evil"));
    bed.deploy("PUBLIC_URL", "agent.example.com");
    let refused = got(&bed, "GET", "/sessions/s", &[]);
    assert_eq!(refused.failure(), (500, "internal"));
    assert!(refused.text.contains("PUBLIC_URL"), "{}", refused.text);
}

#[test]
fn a_wrong_link_an_expired_one_and_an_erased_file_open_nothing() {
    let (bed, target) = with_file();
    let forged = target.replace("Name=a", "Name=b");
    assert_eq!(got(&bed, "GET", &forged, &[]).failure(), (404, "not_found"));
    bed.world.file_fault.set(Some(FileFault::Failed));
    assert_eq!(got(&bed, "GET", &target, &[]).failure(), (500, "internal"));
    bed.world.file_fault.set(None);
    let now = bed.world.executor.now_ms();
    bed.world.executor.set_now_ms(now + 604_800_000);
    assert_eq!(got(&bed, "GET", &target, &[]).failure(), (410, "not_found"));
    bed.world.executor.set_now_ms(now);
    assert_eq!(got(&bed, "GET", &target, &[]).status, 200);
    bed.try_erase().unwrap();
    assert_eq!(got(&bed, "GET", &target, &[]).failure(), (404, "not_found"));
    bed.deploy("FILE_LINK_KEY", "");
    assert_eq!(got(&bed, "GET", &target, &[]).failure(), (404, "not_found"));
}
