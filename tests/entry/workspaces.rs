//! The endpoints of a workspace (interface §7).

use bed::*;
use serde_json::{Value, json};

fn put(bed: &Bed, documents: Value) -> Heard {
    bed.asked("PUT", "/workspaces/w/documents", &json!({ "Documents": documents }).to_string())
}

fn found(bed: &Bed, search: Value) -> Vec<String> {
    let heard = bed.asked("POST", "/workspaces/w/search", &search.to_string());
    let chunks = heard.result()["Chunks"].as_array().unwrap();
    chunks.iter().map(|chunk| chunk["Path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn documents_are_put_found_counted_and_removed() {
    let bed = Bed::new();
    let documents = json!([
        { "Path": "src/invoice.rs", "Contents": "pub struct InvoiceManager;\n", "Properties": { "team": "billing" } },
        { "Path": "src/order.rs", "Contents": "pub struct OrderManager;\n" },
        { "Path": "a+b.md", "Contents": "# Manager of none\n" },
    ]);
    let heard = put(&bed, documents.clone());
    let told = &heard.result()["Documents"][0];
    assert_eq!(told["Path"], "src/invoice.rs");
    assert_eq!((&told["Chunks"], &told["Changed"]), (&json!(1), &json!(true)));
    assert_eq!(told["ContentHash"].as_str().unwrap().len(), 64);
    assert_eq!(put(&bed, documents).result()["Documents"][0]["Changed"], false);

    assert_eq!(found(&bed, json!({ "Query": "invoice manager" }))[0], "src/invoice.rs");
    assert_eq!(found(&bed, json!({ "Query": "manager", "Limit": 1 })).len(), 1);
    let scope =
        json!({ "Conditions": [{ "Key": "team", "Operator": "==", "Values": ["billing"] }] });
    assert_eq!(found(&bed, json!({ "Query": "manager", "RagScope": scope })), ["src/invoice.rs"]);

    let counts = bed.asked("GET", "/workspaces/w", "");
    assert_eq!(counts.result(), &json!({ "Documents": 3, "Chunks": 3, "Bytes": 70 }));
    // `+` stands for itself first; it means a space, as in forms, only when no document has the
    // literal path.
    let removed = bed.asked("DELETE", "/workspaces/w/documents?Path=a+b.md", "");
    assert_eq!(removed.result()["Documents"], 1);
    let removed = bed.asked("DELETE", "/workspaces/w/documents?Path=src%2F", "");
    assert_eq!(removed.result()["Documents"], 2);
    assert_eq!(bed.asked("GET", "/workspaces/w", "").result()["Documents"], 0);
}

#[test]
fn a_removal_of_several_paths_says_what_each_removed_or_changes_nothing() {
    let bed = Bed::new();
    let document = |path: &str| json!({ "Path": path, "Contents": "alpha" });
    put(&bed, ["a", "b", "src/c", "src/d", "e"].map(document).into());
    let remove = |query: &str| bed.asked("DELETE", &format!("/workspaces/w/documents?{query}"), "");
    let refused = remove("Path=a&Path=src%5Cc");
    assert_eq!(refused.failure(), (400, "invalid_field"));
    assert_eq!(refused.body["Errors"][0]["Path"], "/Path/1");
    assert_eq!(remove("Path=a&Path=..").failure(), (400, "invalid_field"));
    assert_eq!(bed.asked("GET", "/workspaces/w", "").result()["Documents"], 5);

    let removed = remove("Path=./a&Path=none&Path=src/&Path=a");
    let of = |path: &str, count: usize| json!({ "Path": path, "Documents": count, "Chunks": count, "Bytes": 5 * count });
    let expected = json!({
        "Documents": 3, "Chunks": 3, "Bytes": 15,
        "Removed": [of("./a", 1), of("none", 0), of("src/", 2), of("a", 0)],
    });
    assert_eq!(removed.result(), &expected);
    let alone = remove("Path=b");
    assert_eq!(alone.result(), &json!({ "Documents": 1, "Chunks": 1, "Bytes": 5 }));
}

#[test]
fn a_search_says_how_well_each_chunk_answers_and_why() {
    let bed = Bed::new();
    put(&bed, json!([{ "Path": "src/invoice.rs", "Contents": "pub struct InvoiceManager;\n" }]));
    let asked = |query: &str| {
        let target = format!("/workspaces/w/search{query}");
        bed.asked("POST", &target, r#"{"Query":"invoices"}"#)
    };
    let chunk = |query: &str| asked(query).result()["Chunks"][0].clone();
    let (plain, explained) = (chunk(""), chunk("?Explain=true"));
    assert!(plain["Score"].as_f64().unwrap() > 0.0);
    assert_eq!((&plain["Explain"], &plain["Score"]), (&Value::Null, &explained["Score"]));
    let term = &explained["Explain"]["Terms"][0];
    assert_eq!((&term["Term"], &term["Fields"]), (&json!("invoices"), &json!(["Text", "Path"])));
    assert_eq!(chunk("?Explain=false"), plain);
    assert_eq!(asked("?Explain=1").failure(), (400, "invalid_field"));
}

#[test]
fn a_client_sends_what_a_comparison_needs() {
    let bed = Bed::new();
    let compared = |list: &[(&str, &Value)]| {
        let list: Vec<Value> =
            list.iter().map(|(path, hash)| json!({ "Path": path, "Sha256": hash })).collect();
        let body = json!({ "Documents": list }).to_string();
        bed.asked("POST", "/workspaces/w/compare", &body).result().clone()
    };
    let none = json!("0".repeat(64));
    assert_eq!(compared(&[("a", &none)]), json!({ "Needed": ["a"], "Extra": [] }));
    let documents = json!([{ "Path": "a", "Contents": "x" }, { "Path": "b", "Contents": "y" }]);
    let sent = put(&bed, documents).result()["Documents"].clone();
    let hash = &sent[0]["Sha256"];
    assert_eq!(*hash, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881");
    assert_eq!(compared(&[("c", hash), ("a", hash)]), json!({ "Needed": ["c"], "Extra": ["b"] }));
    assert_eq!(compared(&[("b", hash), ("a", hash)]), json!({ "Needed": ["b"], "Extra": [] }));
    let heard = bed.asked("POST", "/workspaces/w/compare", "{}");
    assert_eq!(heard.failure(), (400, "missing_field"));
}

#[test]
fn a_workspace_is_erased_and_begins_anew() {
    let bed = Bed::new();
    let document = json!([{ "Path": "a", "Contents": "alpha" }]);
    put(&bed, document.clone());
    assert_eq!(bed.asked("DELETE", "/workspaces/w", "").result()["Documents"], 1);
    assert_eq!(bed.asked("DELETE", "/workspaces/w", "").result()["Documents"], 0);
    assert_eq!(found(&bed, json!({ "Query": "alpha" })), Vec::<String>::new());
    assert_eq!(put(&bed, document).result()["Documents"][0]["Changed"], true);
    assert_eq!(found(&bed, json!({ "Query": "alpha" })), ["a"]);
}

#[test]
fn a_search_shows_what_a_turn_of_the_default_contexts_would_be_given() {
    let bed = Bed::new();
    let text = format!("alpha {}", "x".repeat(500));
    put(&bed, json!([{ "Path": "a", "Contents": text }, { "Path": "b", "Contents": text }]));
    assert_eq!(found(&bed, json!({ "Query": "alpha" })).len(), 2);
    let retrieval = |bed: &Bed, value: Value| {
        bed.configure(|catalog| catalog["AgentContexts"]["default"]["Retrieval"] = value);
    };
    retrieval(&bed, json!({ "Index": { "Limit": 1 } }));
    assert_eq!(found(&bed, json!({ "Query": "alpha" })), ["a"]);
    assert_eq!(found(&bed, json!({ "Query": "alpha", "Limit": 2 })).len(), 2);
    retrieval(&bed, json!({ "Index": { "MaxBytes": 600 } }));
    assert_eq!(found(&bed, json!({ "Query": "alpha" })).len(), 1);
    retrieval(&bed, json!("None"));
    assert_eq!(found(&bed, json!({ "Query": "alpha" })).len(), 0);
    retrieval(&bed, json!({ "Http": { "Url": "https://search.example/q" } }));
    let far = json!({ "Path": "far.md", "StartLine": 1, "EndLine": 2, "Text": "# Far" });
    bed.world.tools.script([ToolAnswer::Json(json!({ "Chunks": [far] })), ToolAnswer::Status(500)]);
    assert_eq!(found(&bed, json!({ "Query": "alpha" })), ["far.md"]);
    let asked = bed.world.tools.calls().pop().unwrap();
    assert_eq!(asked, json!({ "Query": "alpha", "WorkspaceId": "w", "Limit": 8 }));
    let heard = bed.asked("POST", "/workspaces/w/search", r#"{"Query":"alpha"}"#);
    assert_eq!(heard.result()["Chunks"], json!([]));
    assert_eq!(heard.body["Warnings"][0]["ErrorCode"], "retrieval_failed");
    bed.spoil_catalog();
    let heard = bed.asked("POST", "/workspaces/w/search", r#"{"Query":"alpha"}"#);
    assert_eq!(heard.failure(), (500, "catalog_invalid"));
    assert_eq!(
        bed.asked("GET", "/workspaces/w", "").result()["Documents"],
        2,
        "no catalog is needed"
    );
}
