//! What is embedded and by which service, and searches by vectors.

use super::*;

/// Documents among which words alone do not find the right one.
const DOCUMENTS: [(&str, &str); 3] = [
    ("garage.md", "The automobile stands in the garage.\n"),
    ("kitchen.md", "Soup is boiling on a stove.\n"),
    ("office.md", "The physician writes an invoice.\n"),
];

#[test]
fn a_question_in_other_words_finds_its_chunk_once_the_workspace_is_embedded() {
    let bed = Bed::new();
    configure(&bed, by("m"));
    put(&bed, &DOCUMENTS);
    // The upsert has not waited for the service, and a search uses words alone.
    assert_eq!((bed.world.embeddings.requests().len(), bed.rings_in("w")), (0, Some(0)));
    assert_eq!(counts(&bed), (3, Some(0)));
    let asked = json!({ "Query": "Which doctors bill?" });
    assert_eq!(found(&bed, asked.clone()), (vec![], vec!["embeddings_pending".to_owned()]));

    bed.ring_all("w");
    assert_eq!(counts(&bed), (3, Some(3)));
    let (paths, warnings) = found(&bed, asked.clone());
    assert_eq!((paths[0].as_str(), warnings), ("office.md", vec![]));
    let (paths, _) = found(&bed, json!({ "Query": "car" }));
    assert_eq!(paths[0], "garage.md");
    // All chunks went out in one request, each question in another.
    let requests = bed.world.embeddings.requests();
    let inputs: Vec<_> = requests.iter().map(EmbeddingsRequest::inputs).collect();
    let chunk = |(path, text): &(&str, &str)| format!("{path}\n{text}");
    assert_eq!(inputs[0], DOCUMENTS.iter().map(chunk).collect::<Vec<_>>());
    assert_eq!(inputs[1..], [["Which doctors bill?"], ["car"]]);
    assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);

    // In a turn, too.
    let turn = with(turn("t", "Which doctors bill?"), json!({ "WorkspaceId": "w" }));
    let heard = bed.post(&turn);
    assert_eq!(heard.result()["UserWarnings"], Value::Null);
    assert_eq!(bed.world.model.conversation().heard("Path: office.md"), 1);
}

#[test]
fn the_weight_of_vectors_is_the_operator_s() {
    let bed = Bed::new();
    let weighted = |weight: Option<f64>| {
        let mut embeddings = by("m");
        if let Some(weight) = weight {
            embeddings["Weight"] = json!(weight);
        }
        configure(&bed, embeddings);
    };
    weighted(None);
    let words = ("words.md", "A car beside a stove, a cat, soup and rain.\n");
    put(&bed, &[("vectors.md", "The automobile.\n"), words]);
    bed.ring_all("w");
    let paths = || found(&bed, json!({ "Query": "car" })).0;
    assert_eq!(paths(), ["words.md", "vectors.md"]);
    weighted(Some(0.0));
    assert_eq!(paths(), ["words.md"]);
    weighted(Some(1.0));
    assert_eq!(paths(), ["vectors.md", "words.md"]);
    // The terms have that part of a score which vectors do not make.
    let explained = |weight| {
        weighted(Some(weight));
        let asked = json!({ "Query": "car" }).to_string();
        let heard = bed.asked("POST", "/workspaces/w/search?Explain=true", &asked);
        let chunks = heard.result()["Chunks"].as_array().unwrap();
        let chunk = chunks.iter().find(|chunk| chunk["Path"] == "words.md").unwrap();
        let number = |value: &Value| value.as_f64().unwrap();
        let terms = chunk["Explain"]["Terms"].as_array().unwrap();
        (number(&chunk["Explain"]["Chunk"]), terms.iter().map(|term| number(&term["Score"])).sum())
    };
    let (words, of_terms): (f64, f64) = explained(0.0);
    assert!((words - of_terms).abs() < 1e-8, "{words} {of_terms}");
    for weight in [0.43, 1.0] {
        let (chunk, of_terms): (f64, f64) = explained(weight);
        let expected = words * (1.0 - weight);
        assert!((of_terms - expected).abs() < 1e-8 && of_terms <= chunk, "{chunk} {of_terms}");
    }
}

#[test]
fn only_changed_chunks_are_embedded_and_removed_chunks_lose_their_vectors() {
    let bed = embedded(&DOCUMENTS);
    put(&bed, &[DOCUMENTS[0], ("kitchen.md", "A cat sleeps.\n"), ("new.md", "Rain.\n")]);
    bed.asked("DELETE", "/workspaces/w/documents?Path=office.md", "").result();
    bed.ring_all("w");
    let last = bed.world.embeddings.requests().pop().unwrap();
    assert_eq!(last.inputs(), ["kitchen.md\nA cat sleeps.\n", "new.md\nRain.\n"]);
    assert_eq!(counts(&bed), (3, Some(3)));
    assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
    bed.asked("DELETE", "/workspaces/w", "").result();
    assert_eq!((rows(&bed, "sqlite_master"), bed.rings_in("w")), (0, None));
    // An empty workspace has no pending chunks, so there is no warning.
    let before = bed.world.embeddings.requests().len();
    assert_eq!(found(&bed, json!({ "Query": "car" })), (vec![], vec![]));
    assert_eq!(bed.world.embeddings.requests().len(), before);
}

#[test]
fn the_key_goes_to_the_agent_s_own_service_and_to_no_other() {
    let sent = |change: &dyn Fn(&mut Value)| {
        let bed = Bed::new();
        bed.deploy("OTHER_KEY", "sk-other");
        bed.configure(|catalog| {
            let agent = &mut catalog["AgentContexts"]["default"];
            agent["Retrieval"] = json!({ "Index": { "Embeddings": by("m") } });
            change(agent);
        });
        put(&bed, &DOCUMENTS);
        bed.ring_all("w");
        found(&bed, json!({ "Query": "car" }));
        let requests = bed.world.embeddings.requests();
        assert_eq!(requests.len(), 2);
        let shown = |request: &EmbeddingsRequest| {
            let headers = ["authorization", "api-key", "x-team"];
            let headers = headers.map(|name| request.header(name).map(str::to_owned));
            (request.url.clone(), headers)
        };
        assert_eq!(shown(&requests[0]), shown(&requests[1]), "the question goes the same way");
        let (url, headers) = shown(&requests[0]);
        (url, headers.map(Option::unwrap_or_default))
    };
    let own = |url: &str, headers: [&str; 3]| (url.to_owned(), headers.map(str::to_owned));
    let model = "https://model.example/v1/embeddings";
    assert_eq!(sent(&|_| ()), own(model, ["Bearer sk-test", "", ""]));
    let headers = |agent: &mut Value| {
        agent["BaseUrl"] = json!("https://own.example/openai/");
        agent["Query"] = json!({ "api-version": "1 2" });
        agent["Headers"] = json!({ "API-Key": "${OTHER_KEY}", "X-Team": "all" });
    };
    let azure = "https://own.example/openai/embeddings?api-version=1%202";
    assert_eq!(sent(&headers), own(azure, ["", "sk-other", "all"]));
    let own_headers = |agent: &mut Value| {
        headers(agent);
        agent["Retrieval"]["Index"]["Embeddings"]["Headers"] = json!({ "x-team": "search" });
    };
    assert_eq!(sent(&own_headers), own(azure, ["", "sk-other", "search"]));
    let elsewhere = |agent: &mut Value| {
        headers(agent);
        agent["Retrieval"]["Index"]["Embeddings"]["BaseUrl"] = json!("https://vectors.example/v2");
    };
    assert_eq!(sent(&elsewhere), own("https://vectors.example/v2/embeddings", ["", "", ""]));
    let with_key = |agent: &mut Value| {
        elsewhere(agent);
        agent["Retrieval"]["Index"]["Embeddings"]["Headers"] =
            json!({ "Authorization": "Bearer ${OTHER_KEY}" });
    };
    let there = "https://vectors.example/v2/embeddings";
    assert_eq!(sent(&with_key), own(there, ["Bearer sk-other", "", ""]));
}

#[test]
fn only_chunks_in_scope_are_ranked() {
    let bed = Bed::new();
    configure(&bed, by("m"));
    let document = |n: usize| {
        let team = if n < 3 { "few" } else { "many" };
        json!({ "Path": format!("{n}.md"), "Contents": format!("automobile {n}\n"),
            "Properties": { "team": team } })
    };
    let documents: Vec<Value> = (0..300).map(document).collect();
    for documents in documents.chunks(100) {
        let body = json!({ "Documents": documents }).to_string();
        bed.asked("PUT", "/workspaces/w/documents", &body).result();
    }
    bed.ring_all("w");
    let disk = &bed.workspace("w").disk;
    let looked_at = |scope: Value| {
        disk.watch();
        let (paths, warnings) =
            found(&bed, json!({ "Query": "cars", "RagScope": scope, "Limit": 50 }));
        assert_eq!(warnings, Vec::<String>::new());
        let statements = disk.statements();
        let mut vectors =
            statements.iter().filter(|(text, _)| text.contains("AS v ON v.vector_set"));
        (paths.len(), vectors.next().unwrap().1.most_rows)
    };
    let within = |operator: &str, team: &str| json!({ "Conditions": [{ "Key": "team", "Operator": operator, "Values": [team] }] });
    assert_eq!(looked_at(within("==", "few")), (3, 3));
    assert_eq!(looked_at(within("!=", "many")), (3, 3));
    assert_eq!(looked_at(json!(null)), (50, 300));
}

#[test]
fn a_long_document_that_is_being_written_is_not_found_by_half() {
    let bed = embedded(&[("a.md", "rain\n")]);
    let long: String = (0..2_000).map(function).collect();
    bed.world.shake(7);
    let put = bed.ask("PUT", "/workspaces/w/documents", &[], &body_of(&[("long.rs", &long)]));
    bed.run_until(|bed| rows(bed, "hidden") == 1, "a document is written");
    bed.workspace("w").alarm_at.set(Some(0));
    bed.ring_due();
    let mut seen = 0;
    while put.heard().is_none() {
        assert!(bed.step());
        if rows(&bed, "hidden") == 1 {
            let (paths, _) = found(&bed, json!({ "Query": "step 7" }));
            assert!(put.heard().is_some() || paths == ["a.md"], "{paths:?}");
            assert!(put.heard().is_some() || counts(&bed).1 == Some(1));
            seen += 1;
        }
    }
    assert!(seen > 2, "{seen}");
    bed.ring_all("w");
    let (chunks, embedded) = counts(&bed);
    assert!(chunks > 129 && embedded == Some(chunks));
    assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
}

/// Rows written and returned during `what`.
fn cost(bed: &Bed, what: impl FnOnce()) -> (u64, u64) {
    let cost = |disk: &Disk| (disk.rows_written.get(), disk.rows_returned.get());
    let disk = &bed.workspace("w").disk;
    let before = cost(disk);
    what();
    (cost(disk).0 - before.0, cost(disk).1 - before.1)
}

#[test]
fn without_embeddings_nothing_costs_a_row_more_and_an_unchanged_upsert_with_them_does_not_either() {
    let bed = Bed::new();
    put(&bed, &DOCUMENTS);
    let plain = |bed: &Bed| {
        let changed = [("kitchen.md", "A cat sleeps.\n")];
        (cost(bed, || put(bed, &DOCUMENTS)), cost(bed, || put(bed, &changed)))
    };
    let (unchanged, _) = plain(&bed);
    assert_eq!((unchanged, bed.rings_in("w")), ((0, 3), None));
    let bed = embedded(&DOCUMENTS);
    assert_eq!(cost(&bed, || put(&bed, &DOCUMENTS)), unchanged);
    let requests = bed.world.embeddings.requests().len();
    // The alarm reads few rows, and finds nothing to do.
    let (written, read) = cost(&bed, || bed.ring_all("w"));
    assert!(written == 0 && read < 10, "{written}, {read}");
    assert_eq!(bed.world.embeddings.requests().len(), requests);
    // A row of vectors holds many chunks of a document.
    let long: String = (0..300).map(function).collect();
    put(&bed, &[("long.rs", &long)]);
    let (written, _) = cost(&bed, || bed.ring_all("w"));
    let (chunks, _) = counts(&bed);
    assert!(chunks > 48 && written <= chunks / 32 + 2, "{written} rows for {chunks} chunks");
}

#[test]
fn a_search_ends_while_documents_come_without_a_pause() {
    for seed in 1..12 {
        let bed = embedded(&DOCUMENTS);
        bed.world.shake(seed);
        let search = json!({ "Query": "doctors" }).to_string();
        let searching = bed.ask("POST", "/workspaces/w/search", &[], &search);
        let (mut coming, mut sent): (Vec<Pending>, _) = (Vec::new(), 0);
        while searching.heard().is_none() {
            coming.retain(|pending| pending.heard().is_none());
            while coming.len() < 20 {
                let body = body_of(&[(&format!("{sent}.md"), "Rain falls.\n")]);
                coming.push(bed.ask("PUT", "/workspaces/w/documents", &[], &body));
                sent += 1;
            }
            assert!(bed.step());
        }
        assert!(sent < 150, "{sent} documents came before the search ended");
        assert_eq!(searching.heard().unwrap().result()["Chunks"][0]["Path"], "office.md");
    }
}
