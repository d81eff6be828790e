//! The request bodies of the workspace endpoints: typed requests, or every violation at once.

use aptix_edge::contract::{
    Document, ListedDocuments, RagOperator, SearchRequest, parse_comparison, parse_documents,
    parse_search,
};
use futures_util::FutureExt;
use serde_json::{Value, json};

use super::scope::scope;

/// Code, place and message of each violation.
fn refused<T: std::fmt::Debug>(result: Result<T, Vec<aptix_edge::contract::Fault>>) -> Vec<String> {
    let shown = |fault: &aptix_edge::contract::Fault| {
        format!(
            "{} {} | {}",
            fault.code.as_str(),
            fault.path.as_deref().unwrap_or("-"),
            fault.message
        )
    };
    result.unwrap_err().iter().map(shown).collect()
}

fn documents(list: Value) -> Result<Vec<Document>, Vec<aptix_edge::contract::Fault>> {
    parse_documents(json!({ "Documents": list }).to_string().as_bytes())
}

fn comparison_in(body: &str) -> Result<ListedDocuments, Vec<aptix_edge::contract::Fault>> {
    parse_comparison(body.as_bytes(), async || ()).now_or_never().unwrap()
}

fn comparison(list: Value) -> Result<ListedDocuments, Vec<aptix_edge::contract::Fault>> {
    comparison_in(&json!({ "Documents": list }).to_string())
}

fn search(body: Value) -> Result<SearchRequest, Vec<aptix_edge::contract::Fault>> {
    parse_search(body.to_string().as_bytes())
}

#[test]
fn documents_are_read_in_order_with_one_or_more_values_for_a_property() {
    assert_eq!(
        documents(json!([
            { "Path": "src/a.rs", "Contents": "fn a() {}\n", "Language": "rust",
              "Properties": { "team": "billing", "tags": ["x", "", "x"] } },
            { "Path": "b", "Contents": "", "Language": null, "Properties": null },
        ])),
        Ok(vec![
            Document {
                path: "src/a.rs".into(),
                contents: "fn a() {}\n".into(),
                language: Some("rust".into()),
                properties: [
                    ("tags".into(), vec!["x".into(), String::new(), "x".into()]),
                    ("team".into(), vec!["billing".into()]),
                ]
                .into(),
            },
            Document {
                path: "b".into(),
                contents: String::new(),
                language: None,
                properties: Vec::new()
            },
        ])
    );
}

#[test]
fn every_violation_of_a_document_is_named_at_once_in_document_order() {
    let body = r#"{ "Documents": [
        { "path": "a", "Contents": 1 },
        { "Path": "../a", "Contents": "", "Language": 5, "Properties": [] },
        { "Path": "a/", "Contents": "" },
        { "Path": "", "Contents": "" },
        { "Path": "a\\.", "Contents": "" },
        { "Path": "C:\\a", "Contents": null, "Extra": 1 },
        { "Path": "p", "Contents": "", "Properties": { "Path": "x", "": "x", "n": 1, "e": [], "m": ["x", null], "d": "1", "d": "2" } },
        { "Path": "p", "Contents": "" },
        "text"
    ], "Document": 1 }"#;
    assert_eq!(
        refused(parse_documents(body.as_bytes())),
        [
            "unknown_field /Documents/0/path | Documents[0].path is not a known member; did you mean Path?",
            "invalid_field /Documents/0/Contents | Documents[0].Contents must be a string.",
            "missing_field /Documents/0/Path | Documents[0].Path is required; add it.",
            r#"invalid_field /Documents/1/Path | Documents[1].Path "../a" must stay inside the root: it must not hold a ".." segment."#,
            "invalid_field /Documents/1/Language | Documents[1].Language must be a string.",
            "invalid_field /Documents/1/Properties | Documents[1].Properties must be an object of strings or arrays of strings.",
            r#"invalid_field /Documents/2/Path | Documents[2].Path "a/" must name a file."#,
            r#"invalid_field /Documents/3/Path | Documents[3].Path "" must name a file."#,
            r#"invalid_field /Documents/4/Path | Documents[4].Path "a\." must name a file."#,
            r#"invalid_field /Documents/5/Path | Documents[5].Path "C:\a" must be relative: it must not begin with a drive letter or a URL scheme."#,
            "invalid_field /Documents/5/Contents | Documents[5].Contents must be a string.",
            "unknown_field /Documents/5/Extra | Documents[5].Extra is not a known member; remove it.",
            "invalid_field /Documents/6/Properties/Path | Documents[6].Properties.Path is the document's own; use its member instead.",
            "invalid_field /Documents/6/Properties/ | Documents[6].Properties. must have a name.",
            "invalid_field /Documents/6/Properties/n | Documents[6].Properties.n must be a string or an array of strings.",
            "invalid_field /Documents/6/Properties/e | Documents[6].Properties.e must hold at least one value.",
            "invalid_field /Documents/6/Properties/m/1 | Documents[6].Properties.m[1] must be a string.",
            "invalid_field /Documents/6/Properties/d | Documents[6].Properties.d stands more than once in its object; send it once.",
            r#"invalid_field /Documents/7/Path | Documents[7].Path "p" names a document that stands above it; send each once."#,
            "invalid_field /Documents/8 | Documents[8] must be an object.",
            "unknown_field /Document | Document is not a known member; did you mean Documents?",
        ]
    );
}

#[test]
fn every_spelling_of_a_path_is_one_document() {
    let read = documents(json!([{ "Path": "./src//./a.rs", "Contents": "" }])).unwrap();
    assert_eq!(read[0].path, "src/a.rs");
    let sha256 = "0".repeat(64);
    let listed = comparison(json!([{ "Path": ".//src/a.rs", "Sha256": sha256 }])).unwrap();
    assert_eq!(listed.keys().collect::<Vec<_>>(), ["src/a.rs"]);
    let twice = json!([{ "Path": "a", "Contents": "" }, { "Path": "./a", "Contents": "" }]);
    let twice_listed =
        json!([{ "Path": "a", "Sha256": sha256 }, { "Path": "./a", "Sha256": sha256 }]);
    let repeated = |verb: &str| {
        let message = r#"Documents[1].Path "a" names a document that stands above it;"#;
        [format!("invalid_field /Documents/1/Path | {message} {verb} each once.")]
    };
    assert_eq!(refused(documents(twice)), repeated("send"));
    assert_eq!(refused(comparison(twice_listed)), repeated("list"));
    let bad = json!([{ "Path": "src\\a.rs", "Contents": "" }, { "Path": "a\u{200b}.rs", "Contents": "" }]);
    assert_eq!(
        refused(documents(bad)),
        [
            r#"invalid_field /Documents/0/Path | Documents[0].Path "src\a.rs" must separate folders with "/", not with "\"."#,
            r#"invalid_field /Documents/1/Path | Documents[1].Path "a\u{200b}.rs" must not hold an invisible character: another path looks the same."#,
        ]
    );
}

#[test]
fn a_request_holds_1_to_100_documents() {
    let many = |count: usize| -> Value {
        (0..count).map(|n| json!({ "Path": format!("d{n}"), "Contents": "" })).collect()
    };
    let refusal = |problem: &str| vec![format!("invalid_field /Documents | Documents {problem}.")];
    assert_eq!(documents(many(1)).unwrap().len(), 1);
    assert_eq!(documents(many(100)).unwrap().len(), 100);
    assert_eq!(refused(documents(many(0))), refusal("must hold at least one document"));
    let too_many = refusal("must hold at most 100 elements, not 101");
    assert_eq!(refused(documents(many(101))), too_many);
    assert_eq!(
        refused(documents(json!({}))),
        ["invalid_field /Documents | Documents must be an array."]
    );
    assert_eq!(
        refused(parse_documents(b"{}")),
        ["missing_field /Documents | Documents is required; add it."]
    );
    assert!(refused(parse_documents(b"{"))[0].starts_with("malformed_json "));
}

#[test]
fn what_describes_a_document_is_bounded() {
    let with = |member: &str, value: Value| {
        let mut document = json!({ "Path": "p", "Contents": "" });
        document[member] = value;
        documents(json!([document]))
    };
    let values = |count: usize| json!({ "k": vec!["v"; count] });
    // Names, values and characters of more than one byte count alike.
    let bytes = |count: usize| {
        let eleven = vec!["é".repeat(512); 11];
        let last = [1024, 1024, 1024, 1024, count - 15 * 1024 - 4].map(|length| "v".repeat(length));
        json!({ "ké": eleven, "l": last })
    };
    let keys = |count: usize| -> Value {
        (0..count).map(|n| (format!("k{n}"), json!("v"))).collect::<serde_json::Map<_, _>>().into()
    };
    for (member, fits, too_much) in [
        ("Path", json!("p".repeat(1024)), json!("p".repeat(1025))),
        ("Language", json!("l".repeat(64)), json!("l".repeat(65))),
        ("Properties", values(256), values(257)),
        ("Properties", keys(64), keys(65)),
        ("Properties", json!({ "k": "v".repeat(1024) }), json!({ "k": "v".repeat(1025) })),
        ("Properties", json!({ "k".repeat(1024): "v" }), json!({ "k".repeat(1025): "v" })),
        ("Properties", bytes(16_384), bytes(16_385)),
    ] {
        assert!(with(member, fits).is_ok(), "{member}");
        assert_eq!(refused(with(member, too_much)).len(), 1, "{member}");
    }
    let shown = "p".repeat(128);
    let too_long = format!(
        "invalid_field /Documents/0/Path | Documents[0].Path \"{shown}…\" must be at most 1024 characters long."
    );
    assert_eq!(refused(with("Path", json!("p".repeat(1025)))), [too_long]);
}

#[test]
fn a_scope_has_32_conditions_of_100_values_of_1000_characters() {
    let of = |conditions: usize, values: usize, length: usize| {
        let condition =
            json!({ "Key": "k", "Operator": "==", "Values": vec!["é".repeat(length); values] });
        search(json!({ "Query": "q", "RagScope": { "Conditions": vec![condition; conditions] } }))
    };
    assert!(of(32, 100, 1000).is_ok());
    let values = "RagScope.Conditions[1].Values";
    assert_eq!(
        refused(of(33, 1, 1)),
        [
            "invalid_field /RagScope/Conditions | RagScope.Conditions must hold at most 32 elements, not 33."
        ]
    );
    assert_eq!(
        refused(of(2, 101, 1))[1],
        format!(
            "invalid_field /RagScope/Conditions/1/Values | {values} must hold at most 100 elements, not 101."
        )
    );
    assert_eq!(
        refused(of(2, 1, 1001))[1],
        format!(
            "invalid_field /RagScope/Conditions/1/Values/0 | {values}[0] must be at most 1000 characters long."
        )
    );
}

#[test]
fn a_search_is_read_with_its_scope_and_limit() {
    let condition = json!({ "Key": "Path", "Operator": "contains", "Values": ["src/"] });
    assert_eq!(
        search(json!({ "Query": "why?", "RagScope": { "Conditions": [condition] }, "Limit": 100 })),
        Ok(SearchRequest {
            query: "why?".into(),
            rag_scope: Some(scope(&[("Path", RagOperator::Contains, &["src/"])])),
            limit: Some(100),
        })
    );
    assert_eq!(
        search(json!({ "Query": "q", "RagScope": null, "Limit": null })),
        Ok(SearchRequest { query: "q".into(), rag_scope: None, limit: None })
    );
}

#[test]
fn a_wrong_search_is_refused_with_every_violation() {
    let limit = "invalid_field /Limit | Limit must be from 1 to 100 chunks.";
    for (body, violations) in [
        (json!({}), vec!["missing_field /Query | Query is required; add it."]),
        (json!({ "Query": " \n" }), vec!["invalid_field /Query | Query must not be blank."]),
        (json!({ "Query": "q", "Limit": 0 }), vec![limit]),
        (json!({ "Query": "q", "Limit": 101 }), vec![limit]),
        (
            json!({ "Limit": "8", "Qery": 1, "RagScope": [] }),
            vec![
                "invalid_field /Limit | Limit must be an integer from 0 to 2^53, without fraction or exponent.",
                "unknown_field /Qery | Qery is not a known member; did you mean Query?",
                "invalid_field /RagScope | RagScope must be an object.",
                "missing_field /Query | Query is required; add it.",
            ],
        ),
    ] {
        assert_eq!(refused(search(body)), violations);
    }
}

#[test]
fn a_comparison_lists_1_to_10_000_documents_each_once() {
    let hash = "0123456789abcdef".repeat(4);
    let many = |count: usize| -> Value {
        (0..count).map(|n| json!({ "Path": format!("d{n}"), "Sha256": hash })).collect()
    };
    assert_eq!(comparison(many(1)).unwrap(), [("d0".to_owned(), hash.clone())].into());
    assert_eq!(comparison(many(10_000)).unwrap().len(), 10_000);
    let refusal = |problem: &str| vec![format!("invalid_field /Documents | Documents {problem}.")];
    assert_eq!(refused(comparison(many(0))), refusal("must hold at least one document"));
    let too_many = refusal("must hold at most 10000 elements, not 10001");
    assert_eq!(refused(comparison(many(10_001))), too_many);
}

#[test]
fn every_violation_of_a_comparison_is_named_at_once() {
    let hash = "0".repeat(64);
    let no_hash = |place: usize| {
        format!(
            "invalid_field /Documents/{place}/Sha256 | Documents[{place}].Sha256 must be the SHA-256 of the contents in UTF-8: 64 lower-case hex digits."
        )
    };
    let list = json!([
        { "Path": "a", "Sha256": hash },
        { "Path": "../b", "Sha256": hash },
        { "Path": "c", "Sha256": "A".repeat(64) },
        { "Path": "d", "Sha256": "0".repeat(63) },
        { "Path": "a", "Sha256": hash },
        { "Path": "e", "Contents": "" },
    ]);
    assert_eq!(
        refused(comparison(list)),
        [
            r#"invalid_field /Documents/1/Path | Documents[1].Path "../b" must stay inside the root: it must not hold a ".." segment."#.to_owned(),
            no_hash(2),
            no_hash(3),
            r#"invalid_field /Documents/4/Path | Documents[4].Path "a" names a document that stands above it; list each once."#.to_owned(),
            "unknown_field /Documents/5/Contents | Documents[5].Contents is not a known member; remove it.".to_owned(),
            "missing_field /Documents/5/Sha256 | Documents[5].Sha256 is required; add it.".to_owned(),
        ]
    );
}

#[test]
fn the_violations_of_a_comparison_stand_in_the_order_of_its_body_up_to_a_hundred() {
    let wrong = |count: usize| vec![json!({ "Path": "a/", "Sha256": "0".repeat(64) }); count];
    let places = |count: usize| {
        let list = Value::from(wrong(count));
        let body = format!(r#"{{"A":1,"Documents":{list},"B":[1],"C":1}}"#);
        let faults = comparison_in(&body).unwrap_err();
        let place = |fault: &aptix_edge::contract::Fault| fault.path.clone().unwrap_or_default();
        faults.iter().map(place).collect::<Vec<_>>()
    };
    assert_eq!(places(2), ["/A", "/Documents/0/Path", "/Documents/1/Path", "/B", "/C"]);
    for (count, last) in [(97, "/C"), (98, "/B"), (99, "/Documents/98/Path")] {
        let places = places(count);
        assert_eq!(places.len(), if count == 97 { 100 } else { 101 }, "{count}");
        assert_eq!(places[99], last, "{count}");
    }
    assert_eq!(places(5_000)[100], "", "and a note that there are more");
    assert_eq!(
        refused(comparison_in(r#"{"Documents":{},"B":1}"#)),
        [
            "invalid_field /Documents | Documents must be an array.",
            "unknown_field /B | B is not a known member; remove it.",
        ]
    );
}
