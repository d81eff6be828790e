//! A service that fails, refuses or sends a wrong response: words alone serve, the alarm is set again, and nothing that
//! only the service knows gets into a log or a response.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;

const DOCUMENTS: [(&str, &str); 2] =
    [("garage.md", "The automobile stands here.\n"), ("kitchen.md", "Soup boils.\n")];

const FAILED: &str = "embeddings_failed";

type Kind = (&'static str, fn() -> EmbeddingsFault);

/// Every way to fail.
const FAULTS: [Kind; 18] = [
    ("status 500", || EmbeddingsFault::status(500)),
    ("status 401", || EmbeddingsFault::status(401)),
    ("status 429", || EmbeddingsFault::status(429)),
    ("status 400", || EmbeddingsFault::status(400)),
    ("it could not be reached", || EmbeddingsFault::Unreachable),
    ("within 10000 ms", || EmbeddingsFault::Silence),
    ("its answer is not JSON", || EmbeddingsFault::Text("<html>sk-test</html>".to_owned())),
    ("larger than", || EmbeddingsFault::Text("x".repeat((16 << 20) + 1))),
    ("63 numbers", || EmbeddingsFault::Spoilt(|answer| first(answer, json!(vec![0.5; 63])))),
    ("no vector for each text", || EmbeddingsFault::Spoilt(|answer| first(answer, json!(null)))),
    ("no vector for each text", || {
        EmbeddingsFault::Spoilt(|answer| first(answer, json!(vec![Value::Null; 64])))
    }),
    ("no vector for each text", || {
        EmbeddingsFault::Spoilt(|answer| first(answer, json!("not base64!")))
    }),
    ("no vector for each text", || EmbeddingsFault::Spoilt(|answer| answer["data"] = json!([]))),
    ("no vector for each text", || {
        EmbeddingsFault::Spoilt(|answer| answer["data"][0]["index"] = json!(9_999_999))
    }),
    ("no vector for each text", || {
        EmbeddingsFault::Spoilt(|answer| answer["data"][0]["index"] = json!("0"))
    }),
    ("no vector for each text", || {
        EmbeddingsFault::Spoilt(|answer| answer["data"][0]["index"] = json!(-1))
    }),
    ("no vector for each text", || {
        EmbeddingsFault::Spoilt(|answer| answer["data"][0]["index"] = json!(0.5))
    }),
    ("no vector for each text", || {
        EmbeddingsFault::Spoilt(|answer| answer["data"][0]["index"] = json!(null))
    }),
];

fn first(answer: &mut Value, embedding: Value) {
    answer["data"][0]["embedding"] = embedding;
}

/// Asserts that neither log nor response holds what only the service received, and empties the log.
fn assert_discreet(bed: &Bed, heard: &Heard) -> String {
    let log = bed.world.log.take().iter().map(Value::to_string).collect::<String>();
    for text in ["sk-test", "automobile", "html", "Bearer", "soup", "Soup", "/embeddings"] {
        assert!(!log.contains(text), "{text}: {log}");
    }
    for text in ["sk-test", "html", "Bearer", "m.example"] {
        assert!(!heard.text.contains(text), "{text}: {}", heard.text);
    }
    log
}

#[test]
fn whatever_the_failure_words_alone_serve_with_a_warning_until_the_service_recovers() {
    for (why, fault) in FAULTS {
        let bed = embedded(&DOCUMENTS);
        let embeddings = &bed.world.embeddings;
        embeddings.think(move |_| Some(fault()));
        let asked = json!({ "Query": "boiling soup" });
        let heard = bed.asked("POST", "/workspaces/w/search", &asked.to_string());
        assert_eq!(heard.result()["Chunks"][0]["Path"], "kitchen.md", "{why}");
        assert_eq!(heard.body["Warnings"][0]["ErrorCode"], FAILED, "{why}");
        let log = assert_discreet(&bed, &heard);
        assert!(log.contains("embedding_failed") && log.contains(why), "{why}: {log}");
        // In a turn as well, which is not the turn's end.
        let request = with(turn("t", "boiling soup"), json!({ "WorkspaceId": "w" }));
        let heard = bed.post(&request);
        let warning =
            "The workspace was searched by words alone: its embeddings could not be used.";
        assert_eq!(heard.result()["UserWarnings"], json!([warning]), "{why}");
        assert_eq!(bed.world.model.conversation().heard("Path: kitchen.md"), 1);
        assert_discreet(&bed, &heard);
        // And what is new is embedded later.
        put(&bed, &[("new.md", "A physician.\n")]);
        assert!(bed.ring("w"));
        assert_eq!(counts(&bed), (3, Some(2)), "{why}");
        let heard = bed.asked("GET", "/workspaces/w", "");
        assert_eq!(heard.body["Warnings"][0]["ErrorCode"], FAILED, "{why}");
        let log = assert_discreet(&bed, &heard);
        assert!(log.contains("embedding_failed") && log.contains(why), "{why}: {log}");

        embeddings.mend();
        bed.ring_all("w");
        assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
        assert_eq!(bed.asked("GET", "/workspaces/w", "").body["Warnings"], json!([]));
        let (paths, warnings) = found(&bed, json!({ "Query": "doctors" }));
        assert_eq!((paths[0].as_str(), warnings), ("new.md", vec![]), "{why}");
    }
}

#[test]
fn a_clock_that_is_set_back_has_the_service_left_alone_for_no_longer() {
    let bed = Bed::new();
    configure(&bed, by("m"));
    let now_ms = bed.world.executor.now_ms();
    bed.world.executor.set_now_ms(now_ms + 3_600_000);
    bed.world.embeddings.think(|_| Some(EmbeddingsFault::status(500)));
    put(&bed, &DOCUMENTS);
    assert!(bed.ring("w"));
    bed.world.embeddings.mend();
    bed.world.executor.set_now_ms(now_ms);
    assert_eq!(bed.asked("GET", "/workspaces/w", "").body["Warnings"], json!([]));
    found(&bed, json!({ "Query": "boiling soup" }));
    assert_eq!(bed.rings_in("w"), Some(0), "what lacks its vector is embedded now");
}

#[test]
fn an_odd_but_valid_response_is_accepted() {
    let oddities: [fn(&mut Value); 5] = [
        |answer| {
            for item in answer["data"].as_array_mut().unwrap() {
                let text = item["embedding"].as_str().unwrap();
                item["embedding"] = text.replace('+', "-").replace('/', "_").into();
            }
        },
        |answer| answer["data"].as_array_mut().unwrap().reverse(),
        |answer| {
            for item in answer["data"].as_array_mut().unwrap() {
                item.as_object_mut().unwrap().remove("index");
            }
        },
        |answer| answer["more"] = json!({ "data": [1, 2] }),
        // As Gemini leaves out a 0.
        |answer| {
            let items = answer["data"].as_array_mut().unwrap();
            items[0].as_object_mut().unwrap().remove("index");
        },
    ];
    for oddity in oddities {
        let bed = Bed::new();
        configure(&bed, by("m"));
        bed.world.embeddings.think(move |_| Some(EmbeddingsFault::Spoilt(oddity)));
        put(&bed, &DOCUMENTS);
        bed.ring_all("w");
        assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
        assert_eq!(bed.world.embeddings.requests().len(), 1, "all texts in one request");
    }
    // An index that comes twice, or that one item lacks where it is not 0, tells no text's vector: they are asked for one by one.
    let ambiguities: [fn(&mut Value); 2] = [
        |answer| {
            for item in answer["data"].as_array_mut().unwrap() {
                item["index"] = json!(0);
            }
        },
        |answer| {
            let items = answer["data"].as_array_mut().unwrap();
            items.reverse();
            items[0].as_object_mut().unwrap().remove("index");
        },
    ];
    for ambiguity in ambiguities {
        let bed = Bed::new();
        configure(&bed, by("m"));
        bed.world.embeddings.think(move |_| Some(EmbeddingsFault::Spoilt(ambiguity)));
        put(&bed, &DOCUMENTS);
        bed.ring_all("w");
        assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
    }
}

#[test]
fn the_alarm_backs_off_or_waits_as_long_as_the_service_asks() {
    let bed = Bed::new();
    bed.deploy("TURN_ALARM_MS", "7000");
    configure(&bed, by("m"));
    bed.world.embeddings.think(|_| Some(EmbeddingsFault::status(503)));
    put(&bed, &DOCUMENTS);
    let mut waits = Vec::new();
    while waits.len() < 6 {
        waits.push(bed.rings_in("w").unwrap());
        bed.ring("w");
    }
    assert_eq!(waits, [0, 1_000, 2_000, 4_000, 7_000, 7_000]);
    // A change and a search do not shorten the wait.
    put(&bed, &[("new.md", "A physician.\n")]);
    found(&bed, json!({ "Query": "soup" }));
    assert_eq!(bed.rings_in("w"), Some(7_000));
    for (header, value, wait) in [
        ("retry-after", "90", 90_000),
        ("retry-after-ms", "1250", 1_250),
        ("retry-after", "0", 1_000),
        ("retry-after", "86400", 600_000),
        ("retry-after", "soon", 7_000),
    ] {
        let asks = move |_: &_| Some(EmbeddingsFault::Refusal(429, vec![(header, value)]));
        bed.world.embeddings.think(asks);
        bed.ring("w");
        assert_eq!(bed.rings_in("w"), Some(wait), "{header}: {value}");
    }
    bed.world.embeddings.mend();
    bed.ring_all("w");
    assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
    // The next failure is the first one again.
    bed.world.embeddings.think(|_| Some(EmbeddingsFault::status(503)));
    put(&bed, &[("newer.md", "An invoice.\n")]);
    bed.ring("w");
    assert_eq!(bed.rings_in("w"), Some(1_000));
}

/// A silent service is asked for these documents, and each request waits for so long.
fn assert_ends_in_time(timeout_ms: u64, documents: &[(&str, &str)]) {
    let bed = Bed::new();
    let mut patient = by("m");
    patient["TimeoutMs"] = json!(timeout_ms);
    configure(&bed, patient);
    put(&bed, documents);
    bed.world.embeddings.think(|_| Some(EmbeddingsFault::Silence));
    let began = bed.world.executor.now_ms();
    bed.ring("w");
    // The runtime ends an alarm after a quarter of an hour.
    assert!(bed.world.executor.now_ms() - began < 900_000);
    bed.world.embeddings.mend();
    bed.ring_all("w");
    assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
}

#[test]
fn the_alarm_ends_in_time_however_slow_the_service_is() {
    let documents = functions(16);
    assert_ends_in_time(300_000, &borrowed(&documents));
}

#[test]
fn the_alarm_ends_in_time_however_long_one_request_may_last() {
    assert_ends_in_time(900_000, &DOCUMENTS);
}

#[test]
fn a_chunk_at_which_the_service_is_silent_is_skipped_however_long_one_request_may_last() {
    let bed = Bed::new();
    let mut patient = by("m");
    patient["TimeoutMs"] = json!(900_000);
    configure(&bed, patient);
    bed.world.embeddings.think(|request| {
        let is_silent = request.inputs().iter().any(|input| input.contains("attack"));
        is_silent.then_some(EmbeddingsFault::Silence)
    });
    put(&bed, &[("a.md", "Rain falls.\n"), ("b.md", "An attack.\n"), ("c.md", "Fog.\n")]);
    bed.ring_all("w");
    assert_embedded(&bed, &[("m", DIMENSIONS)], |text| text.contains("attack"));
}

#[test]
fn a_change_while_the_service_is_asked_does_not_shorten_the_wait() {
    let bed = Bed::new();
    let mut patient = by("m");
    patient["TimeoutMs"] = json!(2_000);
    configure(&bed, patient);
    let asks = || EmbeddingsFault::Refusal(429, vec![("retry-after", "90")]);
    bed.world.embeddings.script([EmbeddingsFault::Silence, asks()]);
    bed.world.embeddings.think(move |_| Some(asks()));
    put(&bed, &DOCUMENTS);
    bed.ring_due();
    let asked = |bed: &Bed| bed.world.embeddings.requests().len();
    bed.run_until(|bed| asked(bed) == 1, "the service is asked");
    put(&bed, &[("new.md", "A physician.\n")]);
    bed.settle();
    let failed = asked(&bed);
    bed.ring("w");
    assert_eq!(asked(&bed), failed);
    assert_eq!(bed.rings_in("w"), Some(90_000));
}

#[test]
fn a_catalog_that_cannot_be_read_delays_the_alarm_and_loses_nothing() {
    let bed = Bed::new();
    configure(&bed, by("m"));
    put(&bed, &DOCUMENTS);
    bed.spoil_catalog();
    put(&bed, &[("new.md", "A physician.\n")]);
    assert!(bed.ring("w"));
    assert_eq!(bed.rings_in("w"), Some(30_000));
    configure(&bed, by("m"));
    bed.ring_all("w");
    assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
    // Without an alarm nothing would ever be embedded, so nothing is written.
    bed.world.alarm_fails.set(true);
    let body = body_of(&[("last.md", "Rain.\n")]);
    let heard = bed.asked("PUT", "/workspaces/w/documents", &body);
    assert_eq!((heard.failure(), rows(&bed, "documents")), ((500, "internal"), 3));
}

#[test]
fn members_that_a_service_refuses_are_omitted_while_its_vectors_have_the_right_length() {
    for (member, status) in [("dimensions", 422), ("encoding_format", 422), ("dimensions", 500)] {
        let bed = Bed::new();
        configure(&bed, by("m"));
        let refuses = move |request: &EmbeddingsRequest| {
            request.body.get(member).map(|_| EmbeddingsFault::status(status))
        };
        bed.world.embeddings.think(refuses);
        put(&bed, &DOCUMENTS);
        bed.ring_all("w");
        assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
        // It is known from now on.
        let known = bed.world.embeddings.requests().len();
        put(&bed, &[("new.md", "A physician.\n")]);
        bed.ring_all("w");
        let (paths, _) = found(&bed, json!({ "Query": "doctor" }));
        assert_eq!(paths[0], "new.md");
        assert_eq!(bed.world.embeddings.requests().len(), known + 2, "{member}");
    }
    // After a refusal with another cause, the member is sent again.
    let bed = Bed::new();
    configure(&bed, by("m"));
    bed.world.embeddings.usual_dimensions.set(1_536);
    bed.world.embeddings.script([EmbeddingsFault::status(400)]);
    put(&bed, &DOCUMENTS);
    bed.ring_all("w");
    assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
}

#[test]
fn a_fault_of_a_service_that_has_embedded_a_question_has_it_asked_once() {
    let bed = embedded(&DOCUMENTS);
    // The new instance embeds no chunk: all have their vectors.
    bed.restart_workspace("w", None);
    assert_eq!(found(&bed, json!({ "Query": "car" })).1, Vec::<String>::new());
    bed.world.embeddings.think(|_| Some(EmbeddingsFault::status(500)));
    let before = bed.world.embeddings.requests().len();
    assert_eq!(found(&bed, json!({ "Query": "soup" })).1, [FAILED]);
    assert_eq!(bed.world.embeddings.requests().len(), before + 1);
}

#[test]
fn the_member_that_a_service_accepts_is_kept() {
    let bed = Bed::new();
    configure(&bed, by("m"));
    bed.world.embeddings.usual_dimensions.set(1_536);
    let refuses = |request: &EmbeddingsRequest| {
        request.body.get("encoding_format").map(|_| EmbeddingsFault::status(400))
    };
    bed.world.embeddings.think(refuses);
    put(&bed, &DOCUMENTS);
    bed.ring_all("w");
    assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
}

#[test]
fn a_service_that_refuses_large_batches_gets_smaller_ones() {
    let documents = functions(40);
    type Refuses = fn(&EmbeddingsRequest) -> bool;
    let many: Refuses = |request| request.inputs().len() > 3;
    let long: Refuses = |request| request.inputs().concat().len() > 900;
    // By 429 a service refuses whatever has more tokens than it permits a minute.
    for (status, refuses) in [(400, many), (413, many), (422, long), (429, long), (500, long)] {
        let bed = Bed::new();
        configure(&bed, by("m"));
        bed.world
            .embeddings
            .think(move |request| refuses(request).then(|| EmbeddingsFault::status(status)));
        put(&bed, &borrowed(&documents));
        bed.ring_all("w");
        assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
        assert!(bed.world.embeddings.requests().len() < 120);
    }
    // A service that is silent on large requests gets smaller ones, instead of the same wait again and again.
    let bed = Bed::new();
    let mut patient = by("m");
    patient["TimeoutMs"] = json!(2_000);
    configure(&bed, patient);
    let silent = |request: &EmbeddingsRequest| {
        (request.inputs().len() > 20).then_some(EmbeddingsFault::Silence)
    };
    bed.world.embeddings.think(silent);
    put(&bed, &borrowed(&documents));
    let before = bed.world.executor.now_ms();
    bed.ring_all("w");
    assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
    assert!(bed.world.executor.now_ms() - before < 12_000);
}

#[test]
fn one_alarm_makes_no_more_requests_than_the_free_plan_permits() {
    let documents = functions(60);
    let bed = Bed::new();
    configure(&bed, by("m"));
    let single = |request: &EmbeddingsRequest| {
        (request.inputs().len() > 1).then(|| EmbeddingsFault::status(413))
    };
    bed.world.embeddings.think(single);
    put(&bed, &borrowed(&documents));
    let mut before = 0;
    while bed.ring("w") {
        let requests = bed.world.embeddings.requests().len();
        assert!(requests - before <= 50, "{}", requests - before);
        before = requests;
    }
    assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
}

#[test]
fn a_chunk_that_the_service_refuses_is_skipped_and_no_other_is() {
    let refused = |text: &str| text.contains("step_17");
    let source: String = (0..30).filter(|number| *number != 17).map(function).collect();
    // A firewall before the service refuses words that look like an attack.
    for status in [400, 403, 406] {
        let bed = Bed::new();
        configure(&bed, by("m"));
        let requests = Rc::new(RefCell::new(0));
        bed.world.embeddings.think(move |request| {
            let is_refused = request.inputs().iter().any(|input| refused(input));
            *requests.borrow_mut() += 1;
            assert!(*requests.borrow() < 100, "it is asked again and again");
            is_refused.then(|| EmbeddingsFault::status(status))
        });
        put(&bed, &[("a.rs", &function(1)), ("b.rs", &function(17)), ("c.rs", &source)]);
        bed.ring_all("w");
        let (chunks, embedded) = counts(&bed);
        assert_eq!(embedded, Some(chunks - 1));
        assert_embedded(&bed, &[("m", DIMENSIONS)], refused);
        // Words find it, without a warning.
        let (paths, warnings) = found(&bed, json!({ "Query": "step 17" }));
        assert!(paths.contains(&"b.rs".to_owned()));
        assert_eq!((warnings, bed.rings_in("w")), (vec![], None));
    }
}

#[test]
fn a_chunk_that_is_refused_for_its_words_shortens_no_other_one() {
    let bed = Bed::new();
    configure(&bed, by("m"));
    bed.world.embeddings.think(|request| {
        let is_refused = request.inputs().iter().any(|input| input.contains("attack"));
        is_refused.then(|| EmbeddingsFault::status(403))
    });
    let long = |end: &str| "rain snow hail ".repeat(150) + end;
    for (path, end) in [("a.md", "and thunder at the end"), ("b.md", "attack"), ("c.md", "fog")] {
        put(&bed, &[(path, &long(end))]);
        bed.ring_all("w");
    }
    let requests = bed.world.embeddings.requests();
    let last = requests.last().unwrap().inputs();
    assert!(last.len() == 1 && last[0].starts_with("c.md") && last[0].ends_with("fog"), "{last:?}");
}

#[test]
fn how_long_a_text_one_model_embeds_says_nothing_of_another_one() {
    let bed = Bed::new();
    let long = "rain snow hail ".repeat(150);
    configure(&bed, by("m"));
    put(&bed, &[("a.md", &long)]);
    bed.ring_all("w");
    configure(&bed, by("n"));
    bed.world.embeddings.think(|request| {
        let is_long = request.inputs().iter().any(|input| input.len() > 1_000);
        is_long.then(|| EmbeddingsFault::status(400))
    });
    put(&bed, &[("b.md", &long)]);
    bed.ring_all("w");
    let learned = bed.world.embeddings.requests().len();
    put(&bed, &[("c.md", &long)]);
    bed.ring_all("w");
    assert_eq!(bed.world.embeddings.requests().len() - learned, 1, "the length is known");
}

#[test]
fn a_model_that_replaces_one_of_short_texts_gets_whole_chunks() {
    let bed = Bed::new();
    configure(&bed, by("short"));
    bed.world.embeddings.think(|request| {
        let is_long = request.inputs().iter().any(|input| input.len() > 700);
        (is_long && request.model() == "short").then(|| EmbeddingsFault::status(400))
    });
    let long = "rain snow hail ".repeat(60) + &"thunder ".repeat(100);
    put(&bed, &[("a.md", &long)]);
    bed.ring_all("w");
    configure(&bed, by("long"));
    // The first question sees that there is something to do.
    found(&bed, json!({ "Query": "rain" }));
    bed.ring_all("w");
    assert_embedded(&bed, &[("long", DIMENSIONS)], |_| false);
}

#[test]
fn a_chunk_that_is_too_long_for_the_service_is_found_by_its_beginning() {
    let bed = Bed::new();
    configure(&bed, by("m"));
    bed.world.embeddings.think(|request| {
        let is_long = request.inputs().iter().any(|input| input.len() > 700);
        is_long.then(|| EmbeddingsFault::status(400))
    });
    let long = "The automobile stands.\n".repeat(20) + &"rain snow hail ".repeat(150);
    put(&bed, &[("garage.md", &long), ("kitchen.md", "Soup boils.\n")]);
    bed.ring_all("w");
    assert_eq!(counts(&bed), (2, Some(2)));
    let (paths, warnings) = found(&bed, json!({ "Query": "cars" }));
    assert_eq!((paths[0].as_str(), warnings), ("garage.md", vec![]));
}

#[test]
fn a_question_without_a_direction_is_searched_by_words_alone() {
    let none: [fn(&mut Value); 3] = [
        |answer| first(answer, json!(vec![0.0; DIMENSIONS])),
        |answer| first(answer, json!(vec![1e39; DIMENSIONS])),
        // Not a number, four bytes each.
        |answer| first(answer, json!("AADAfwAAwH8AAMB/".repeat(21) + "AADAfw==")),
    ];
    for none in none {
        let bed = embedded(&DOCUMENTS);
        bed.world.embeddings.think(move |_| Some(EmbeddingsFault::Spoilt(none)));
        let (paths, warnings) = found(&bed, json!({ "Query": "soup" }));
        assert_eq!((paths, warnings), (vec!["kitchen.md".to_owned()], vec![FAILED.to_owned()]));
    }
}

#[test]
fn erased_texts_are_never_sent_again() {
    let source: String = (0..60).map(function).collect();
    for requests in 1..20 {
        let bed = Bed::new();
        configure(&bed, by("m"));
        // The service refuses every request, so each one is smaller than the last.
        bed.world
            .embeddings
            .think(|request| (request.inputs() != ["text"]).then(|| EmbeddingsFault::status(400)));
        put(&bed, &[("a.rs", &source), ("b.rs", "fn b() {}\n")]);
        bed.world.shake(requests as u64);
        bed.ring_due();
        let asked = |bed: &Bed| bed.world.embeddings.requests().len();
        bed.run_until(|bed| asked(bed) >= requests, "the service is asked");
        bed.asked("DELETE", "/workspaces/w", "").result();
        let sent = asked(&bed);
        bed.settle();
        bed.ring_all("w");
        assert_eq!(
            (rows(&bed, "sqlite_master"), asked(&bed)),
            (0, sent),
            "after {requests} requests"
        );
    }
}
