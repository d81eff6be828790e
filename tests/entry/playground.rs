//! `GET /` (interface §1, §6): the playground's page and its files, where `PLAYGROUND` is on.

use bed::*;

fn with_page() -> Bed {
    let bed = Bed::new();
    let files = [("/index.html", "<!doctype html>"), ("/playground/page-1A2B.js", "run()")];
    bed.world.page_files.borrow_mut().extend(files);
    bed
}

#[test]
fn the_page_and_its_files_are_served_where_the_playground_is_on_and_nowhere_else() {
    let bed = with_page();
    for off in [None, Some("off"), Some(""), Some("ON"), Some("true")] {
        if let Some(value) = off {
            bed.deploy("PLAYGROUND", value);
        }
        for target in ["/", "/playground/page-1A2B.js"] {
            assert_eq!(bed.asked("GET", target, "").failure(), (404, "not_found"), "{off:?}");
        }
    }
    bed.deploy("PLAYGROUND", "on");
    for (method, target, text) in [
        ("GET", "/", "<!doctype html>"),
        ("GET", "/?session=s", "<!doctype html>"),
        ("HEAD", "/", "<!doctype html>"),
        ("GET", "/playground/page-1A2B.js", "run()"),
    ] {
        let heard = bed.asked(method, target, "");
        assert_eq!((heard.status, heard.text.as_str()), (200, text), "{method} {target}");
    }
    for absent in ["/playground/index.html", "/playground/page.js", "/playground/%2e%2e"] {
        assert_eq!(bed.asked("GET", absent, "").failure(), (404, "not_found"), "{absent}");
    }
    assert_eq!(bed.asked("POST", "/", "").failure(), (405, "method_not_allowed"));
}

#[test]
fn the_page_takes_no_key_and_may_load_nothing_from_elsewhere() {
    let bed = with_page();
    bed.deploy("PLAYGROUND", "on");
    bed.deploy("AUTH", "keys");
    let page = bed.asked("GET", "/", "");
    let script = bed.asked("GET", "/playground/page-1A2B.js", "");
    for heard in [&page, &script] {
        let policy = &heard.headers["Content-Security-Policy"];
        for rule in policy.split("; ") {
            let (_, sources) = rule.split_once(' ').unwrap();
            let own = ["'none'", "'self'", "data:", "blob:"];
            assert!(sources.split(' ').all(|source| own.contains(&source)), "{rule}");
        }
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
        assert!(policy.ends_with("base-uri 'none'; form-action 'none'; frame-ancestors 'none'"));
        assert_eq!(heard.headers["X-Content-Type-Options"], "nosniff");
        assert_eq!(heard.headers["Referrer-Policy"], "no-referrer");
    }
    assert_eq!(page.headers["Cache-Control"], "no-cache");
    assert_eq!(script.headers["Cache-Control"], "public, max-age=31536000, immutable");
}

#[test]
fn where_nobody_is_asked_for_a_key_the_page_may_talk_to_this_machine_alone() {
    let bed = with_page();
    bed.deploy("PLAYGROUND", "on");
    bed.deploy("AUTH", "none");
    let policy = &bed.asked("GET", "/", "").headers["Content-Security-Policy"];
    assert!(policy.contains("; connect-src 'self' http://127.0.0.1:*; base-uri"), "{policy}");
    assert_eq!(policy.matches("http").count(), 1, "{policy}");
}
