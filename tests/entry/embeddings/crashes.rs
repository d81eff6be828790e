//! The instance ends at every durable step of indexing and embedding, and before every write: the alarm
//! finishes what is left, whether or not the client comes again.

use super::*;

/// What happens to a workspace.
enum Act {
    Put(Vec<(&'static str, String)>),
    Remove(&'static str),
    /// The catalog names another model.
    Model(&'static str),
    /// The alarm rings, and again until nothing is left to do.
    Alarm,
}

fn scenario() -> Vec<Act> {
    let of = |first: usize| (first..first + 9).map(function).collect::<String>();
    vec![
        Act::Put(vec![("a.rs", of(1)), ("b.rs", of(20)), ("c.rs", of(40))]),
        Act::Alarm,
        Act::Put(vec![("b.rs", of(60))]),
        Act::Remove("a.rs"),
        Act::Alarm,
        Act::Model("n"),
        Act::Put(vec![("d.rs", of(80))]),
        Act::Alarm,
    ]
}

/// A document of many chunks, which is written in steps, replaced in steps, and removed in steps.
fn long_scenario() -> Vec<Act> {
    let of = |word: &str| format!("{word}\n").repeat(10_500);
    vec![
        Act::Put(vec![("short.rs", function(1)), ("long.rs", of("one"))]),
        Act::Alarm,
        Act::Put(vec![("long.rs", of("two")), ("last.rs", function(2))]),
        Act::Alarm,
        Act::Remove("long.rs"),
        Act::Alarm,
    ]
}

/// Runs the act; false when the instance was lost.
fn act(bed: &Bed, act: &Act) -> bool {
    let heard = match act {
        Act::Put(documents) => {
            let documents: Vec<(&str, &str)> =
                documents.iter().map(|(path, text)| (*path, text.as_str())).collect();
            bed.asked("PUT", "/workspaces/w/documents", &body_of(&documents))
        }
        Act::Remove(path) => {
            bed.asked("DELETE", &format!("/workspaces/w/documents?Path={path}"), "")
        }
        Act::Model(model) => {
            configure(bed, by(model));
            return true;
        }
        Act::Alarm => {
            bed.ring_all("w");
            return true;
        }
    };
    assert!([200, 500].contains(&heard.status), "{}", heard.text);
    heard.status == 200
}

/// A service that accepts few texts at once, so that there are many batches.
fn bed() -> Bed {
    let bed = Bed::new();
    configure(&bed, by("m"));
    bed.world.embeddings.think(|request| {
        let texts = request.inputs().len();
        let is_long = texts > 4 && request.inputs().iter().any(|input| !input.starts_with("long"));
        is_long.then(|| EmbeddingsFault::status(413))
    });
    bed
}

/// Plays a scenario; a client who has gone does nothing after the crash.
fn survive(acts: &[Act], crash: Option<Crash>, repeats: bool) -> Bed {
    let bed = bed();
    bed.restart_workspace("w", crash);
    let mut model = "m";
    for one in acts {
        if let Act::Model(name) = one {
            model = name;
        }
        if act(&bed, one) {
            continue;
        }
        if !repeats {
            break;
        }
        assert!(act(&bed, one), "it was lost twice");
    }
    bed.ring_all("w");
    // The next change or question embeds by the model that the catalog names now.
    if !repeats {
        found(&bed, json!({ "Query": "step 7" }));
        bed.ring_all("w");
    }
    let is_empty = rows(&bed, "documents") == 0;
    assert!(repeats || !is_empty || rows(&bed, "vectors") == 0);
    if !is_empty {
        assert_embedded(&bed, &[(model, DIMENSIONS)], |_| false);
    }
    let (chunks, embedded) = counts(&bed);
    assert_eq!(embedded, Some(chunks));
    assert_eq!((rows(&bed, "hidden"), rows(&bed, "chunks") as u64), (0, chunks));
    bed
}

fn survive_all(acts: &[Act], crashes: impl IntoIterator<Item = Crash>) {
    let whole = survive(acts, None, true);
    let documents = |bed: &Bed| {
        let disk = &bed.workspace("w").disk;
        disk.read("SELECT path, content_hash FROM documents ORDER BY path")
    };
    let mut survived = 0;
    for crash in crashes {
        for repeats in [true, false] {
            let run = std::panic::AssertUnwindSafe(|| survive(acts, Some(crash), repeats));
            match std::panic::catch_unwind(run) {
                Ok(bed) => assert!(!repeats || documents(&bed) == documents(&whole), "{crash:?}"),
                Err(panic) => {
                    println!("{crash:?}, and the client repeats: {repeats}");
                    std::panic::resume_unwind(panic);
                }
            }
            survived += 1;
        }
    }
    println!("{survived} crashes survived");
}

#[test]
fn a_crash_at_any_step_or_write_leaves_every_chunk_with_its_one_vector_in_the_end() {
    let whole = survive(&scenario(), None, true);
    let disk = &whole.workspace("w").disk;
    let (steps, writes) = (disk.steps.get(), disk.writes.get());
    assert!(steps > 12 && writes > 60, "{steps} steps, {writes} writes");
    let crashes = (1..=steps).map(Crash::AfterStep).chain((1..=writes).map(Crash::BeforeWrite));
    survive_all(&scenario(), crashes);
}

#[test]
fn a_half_written_long_document_does_not_hold_up_the_chunks_behind_it() {
    let whole = survive(&long_scenario(), None, true);
    let steps = whole.workspace("w").disk.steps.get();
    survive_all(&long_scenario(), (1..=steps).map(Crash::AfterStep));
}

#[test]
fn the_next_alarm_completes_what_a_failed_write_left() {
    let documents = [("a.rs", function(1)), ("b.rs", function(2))];
    let documents: Vec<(&str, &str)> =
        documents.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let whole = bed();
    put(&whole, &documents);
    let first = whole.workspace("w").disk.writes.get();
    whole.ring_all("w");
    let last = whole.workspace("w").disk.writes.get();
    assert!(last > first + 2);
    for write in first + 1..=last {
        let bed = bed();
        put(&bed, &documents);
        bed.workspace("w").disk.failing_write.set(Some(write));
        assert!(bed.ring("w"));
        assert_eq!(counts(&bed).1, Some(0), "{write}");
        assert_eq!(bed.world.log.take().last().unwrap()["event"], "embedding_failed");
        bed.ring_all("w");
        assert_embedded(&bed, &[("m", DIMENSIONS)], |_| false);
    }
}
