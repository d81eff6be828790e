//! Another model in the catalog: everything is embedded again, and the vectors of the former model serve meanwhile.

use std::cell::Cell;

use super::*;

const DOCUMENTS: [(&str, &str); 3] = [
    ("garage.md", "The automobile stands here.\n"),
    ("kitchen.md", "Soup boils.\n"),
    ("office.md", "A physician writes.\n"),
];

/// The model that was asked last.
fn asked(bed: &Bed) -> String {
    bed.world.embeddings.requests().last().unwrap().model().to_owned()
}

/// Makes the service embed one text at a time, and fail after `count` texts of a model.
fn fails_after(bed: &Bed, model: &'static str, texts: usize) {
    let left = Cell::new(texts);
    bed.world.embeddings.think(move |request| {
        if request.model() != model {
            return None;
        }
        if request.inputs().len() > 1 {
            return Some(EmbeddingsFault::status(413));
        }
        let Some(less) = left.get().checked_sub(1) else {
            return Some(EmbeddingsFault::status(503));
        };
        left.set(less);
        None
    });
}

/// The first result of a search in other words, and the model that embedded the question.
fn doctor(bed: &Bed) -> (String, String) {
    let (paths, warnings) = found(bed, json!({ "Query": "doctors" }));
    assert_eq!(warnings, Vec::<String>::new());
    (paths[0].clone(), asked(bed))
}

fn by_model(model: &str) -> (String, String) {
    ("office.md".to_owned(), model.to_owned())
}

#[test]
fn the_former_model_serves_until_the_new_one_has_embedded_everything_and_then_loses_its_vectors() {
    let bed = Bed::new();
    configure(&bed, by("old"));
    put(&bed, &DOCUMENTS);
    bed.ring_all("w");
    configure(&bed, by("new"));
    fails_after(&bed, "new", 2);
    // The first question sees that there is something to do.
    assert_eq!((doctor(&bed), counts(&bed)), (by_model("old"), (3, Some(0))));
    assert_eq!(bed.rings_in("w"), Some(0));
    bed.ring("w");
    assert_eq!((doctor(&bed), counts(&bed)), (by_model("old"), (3, Some(2))));
    assert_eq!(rows(&bed, "vector_sets"), 2);
    // Documents that come meanwhile are found by their words.
    put(&bed, &[("new.md", "Rain falls.\n")]);
    assert_eq!(found(&bed, json!({ "Query": "rain" })).0[0], "new.md");
    // Another instance continues where this one ended.
    bed.restart_workspace("w", None);
    bed.world.embeddings.mend();
    let before = bed.world.embeddings.requests().len();
    bed.ring_all("w");
    let inputs = bed.world.embeddings.requests()[before].inputs().join(" ");
    assert!(!inputs.contains("automobile") && inputs.contains("physician"), "{inputs}");
    assert_embedded(&bed, &[("new", DIMENSIONS)], |_| false);
    assert_eq!(doctor(&bed), by_model("new"));
}

#[test]
fn the_former_model_serves_while_a_long_document_before_all_others_is_replaced() {
    let bed = Bed::new();
    configure(&bed, by("old"));
    let long = |word: &str| format!("{word}\n").repeat(100_000);
    put(&bed, &[("long.txt", &long("one")), DOCUMENTS[2]]);
    bed.ring_all("w");
    configure(&bed, by("new"));
    let body = body_of(&[("long.txt", &long("two"))]);
    bed.world.shake(1);
    let pending = bed.ask("PUT", "/workspaces/w/documents", &[], &body);
    let is_swept = |bed: &Bed| {
        let disk = &bed.workspace("w").disk;
        !disk.read("SELECT 1 FROM hidden WHERE first_chunk = 1").is_empty()
    };
    bed.run_until(is_swept, "the chunks of the former text are hidden");
    // The alarm that was set before the change rings.
    let executor = &bed.world.executor;
    executor.set_now_ms(executor.now_ms() + bed.rings_in("w").unwrap());
    bed.ring_due();
    bed.wait(&pending).unwrap().result();
    bed.run_at_once();
    assert_eq!(doctor(&bed), by_model("old"));
    bed.ring_all("w");
    assert_embedded(&bed, &[("new", DIMENSIONS)], |_| false);
}

#[test]
fn a_change_of_the_model_that_is_reverted_halfway_leaves_the_former_vectors() {
    let bed = Bed::new();
    configure(&bed, by("old"));
    put(&bed, &DOCUMENTS);
    bed.ring_all("w");
    configure(&bed, by("new"));
    fails_after(&bed, "new", 2);
    doctor(&bed);
    bed.ring("w");
    configure(&bed, by("old"));
    let before = bed.world.embeddings.requests().len();
    assert_eq!((doctor(&bed), counts(&bed)), (by_model("old"), (3, Some(3))));
    bed.ring_all("w");
    // Only the question was sent, and the vectors of the other model are deleted.
    assert_eq!(bed.world.embeddings.requests().len(), before + 1);
    assert_embedded(&bed, &[("old", DIMENSIONS)], |_| false);
}

#[test]
fn other_dimensions_are_another_model() {
    let bed = embedded(&DOCUMENTS);
    configure(&bed, json!({ "Model": "m", "Dimensions": 32 }));
    assert_eq!(doctor(&bed), by_model("m"));
    let sent = bed.world.embeddings.requests().pop().unwrap().body;
    assert_eq!(sent["dimensions"], DIMENSIONS, "by the vectors that there are");
    bed.ring_all("w");
    assert_embedded(&bed, &[("m", 32)], |_| false);
    assert_eq!(doctor(&bed), by_model("m"));
    assert_eq!(bed.world.embeddings.requests().pop().unwrap().body["dimensions"], 32);
}

#[test]
fn without_embeddings_in_the_catalog_the_vectors_go_with_the_next_change() {
    let bed = embedded(&DOCUMENTS);
    bed.configure(|_| ());
    let before = bed.world.embeddings.requests().len();
    let (paths, warnings) = found(&bed, json!({ "Query": "soup" }));
    assert_eq!((paths, warnings), (vec!["kitchen.md".to_owned()], vec![]));
    assert_eq!(counts(&bed), (3, None));
    put(&bed, &[("new.md", "Rain falls.\n")]);
    bed.ring_all("w");
    assert_eq!((rows(&bed, "vectors"), rows(&bed, "vector_sets")), (0, 0));
    assert_eq!(bed.world.embeddings.requests().len(), before, "nothing is sent");
    put(&bed, &DOCUMENTS);
    assert_eq!(bed.rings_in("w"), None);
}

#[test]
fn each_agent_context_is_served_by_its_own_model() {
    let bed = Bed::new();
    let two = |catalog: &mut Value| {
        let agents = &mut catalog["AgentContexts"];
        agents["default"]["Retrieval"] = json!({ "Index": { "Embeddings": by("one") } });
        let other =
            json!({ "Model": "other", "Dimensions": 48, "BaseUrl": "https://other.example" });
        agents["replay"]["Retrieval"] = json!({ "Index": { "Embeddings": other } });
    };
    bed.configure(two);
    put(&bed, &DOCUMENTS);
    bed.ring_all("w");
    assert_embedded(&bed, &[("one", DIMENSIONS), ("other", 48)], |_| false);
    assert_eq!(doctor(&bed), by_model("one"));
    let replay = json!({ "ConversationContextId": "replay", "WorkspaceId": "w" });
    let ask = |id: &str| {
        let heard = bed.post(&with(turn(id, "doctors"), replay.clone()));
        heard.result()["UserWarnings"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((ask("t1"), asked(&bed)), (0, "other".to_owned()));
    assert_eq!(bed.world.model.conversation().heard("Path: office.md"), 1);
    // The failure of one service neither deletes the other's vectors nor keeps it from embedding.
    bed.world
        .embeddings
        .think(|request| (request.model() == "one").then(|| EmbeddingsFault::status(500)));
    put(&bed, &[("new.md", "An invoice.\n")]);
    bed.ring("w");
    assert_eq!((ask("t2"), counts(&bed)), (0, (4, Some(3))));
    let heard = found(&bed, json!({ "Query": "soup" }));
    assert_eq!(heard, (vec!["kitchen.md".to_owned()], vec!["embeddings_failed".to_owned()]));
    bed.world.embeddings.mend();
    bed.ring_all("w");
    assert_embedded(&bed, &[("one", DIMENSIONS), ("other", 48)], |_| false);
    // When one context no longer embeds, its vectors go and the others stay.
    configure(&bed, by("one"));
    put(&bed, &[("new.md", "Rain.\n")]);
    bed.ring_all("w");
    assert_embedded(&bed, &[("one", DIMENSIONS)], |_| false);
}
