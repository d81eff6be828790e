//! One workspace with several clients, an alarm, a failing service, another catalog and lost instances, in a
//! random order from a seed: in the end each chunk has its one right vector, and what is erased stays erased.
//!
//! `APTIX_SEED=n` runs one seed alone and says what happens; `APTIX_LONG_TESTS=1` runs many more.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use aptix_edge::encoding::sha256_hex;

use super::*;

const SEEDS: u64 = 50;
const LONG_SEEDS: u64 = 4_000;

/// More steps than any run takes.
const ALL: u64 = 200_000;

const PATHS: [&str; 5] = ["a.rs", "b.rs", "c/d.md", "c/e.md", "long.txt"];

/// What may stand at a path; `None` is no document.
type May = BTreeSet<Option<String>>;

enum Asked {
    Put(Vec<(&'static str, String)>),
    Remove(&'static str),
    Erase,
    Look,
}

/// A request that was sent.
struct Open {
    asked: Asked,
    pending: Pending,
    /// The workspace was being erased meanwhile; of an erasure, that others were at work.
    beside_erasure: bool,
}

struct Story<'a> {
    bed: &'a Bed,
    random: Random,
    open: Vec<Open>,
    may: BTreeMap<&'static str, May>,
    /// All contents that were ever sent, by path.
    sent: BTreeMap<&'static str, String>,
    models: Vec<(&'static str, usize)>,
    /// The catalog never changes.
    is_steady: bool,
    words: usize,
    met: BTreeMap<String, usize>,
    loud: bool,
}

impl Story<'_> {
    fn say(&mut self, what: &str) {
        *self.met.entry(what.split(' ').next().unwrap().to_owned()).or_default() += 1;
        if self.loud {
            println!("{:>8} ms  {what}", self.bed.world.executor.now_ms() % 100_000_000);
        }
    }

    fn send(&mut self, asked: Asked, method: &str, target: &str, body: &str) {
        let pending = self.bed.ask(method, &format!("/workspaces/w{target}"), &[], body);
        let mut beside_erasure = false;
        for open in &mut self.open {
            if matches!(open.asked, Asked::Erase) || matches!(asked, Asked::Erase) {
                (beside_erasure, open.beside_erasure) = (true, true);
            }
        }
        self.open.push(Open { asked, pending, beside_erasure });
    }

    /// A path on which no request works: the order of two at once would be unknown.
    fn free_path(&mut self) -> Option<&'static str> {
        let path = *self.random.pick(&PATHS);
        let works_on = |open: &Open| match &open.asked {
            Asked::Put(documents) => documents.iter().any(|(known, _)| *known == path),
            Asked::Remove(known) => *known == path,
            Asked::Erase | Asked::Look => false,
        };
        (!self.open.iter().any(works_on)).then_some(path)
    }

    fn put(&mut self, paths: BTreeSet<&'static str>) {
        if paths.is_empty() {
            return;
        }
        let mut documents = Vec::new();
        for path in paths {
            self.words += 1;
            // The long one has more chunks than one step writes.
            let lines = if path == "long.txt" { 10_500 } else { self.random.below(100) as usize };
            let contents = format!("w{}\n", self.words).repeat(1 + lines);
            self.sent.entry(path).or_default().push_str(&contents);
            documents.push((path, contents));
        }
        self.say(&format!("put {:?}", documents.iter().map(|(path, _)| path).collect::<Vec<_>>()));
        let of: Vec<(&str, &str)> =
            documents.iter().map(|(path, contents)| (*path, contents.as_str())).collect();
        let body = body_of(&of);
        self.send(Asked::Put(documents), "PUT", "/documents", &body);
    }

    fn act(&mut self) {
        match self.random.below(100) {
            0..30 => {
                let paths = [self.free_path(), self.free_path()];
                self.put(paths.into_iter().flatten().collect());
            }
            30..40 => {
                let Some(path) = self.free_path() else { return };
                self.say(&format!("remove {path}"));
                self.send(Asked::Remove(path), "DELETE", &format!("/documents?Path={path}"), "");
            }
            40..55 => {
                self.say("search");
                let body = json!({ "Query": format!("w{}", 1 + self.random.below(9)) });
                self.send(Asked::Look, "POST", "/search?Explain=true", &body.to_string());
            }
            55..60 => self.send(Asked::Look, "GET", "", ""),
            60..66 => {
                self.say("erase");
                self.send(Asked::Erase, "DELETE", "", "");
            }
            66..76 if !self.is_steady => self.change_catalog(),
            76..88 => self.spoil(),
            88..92 => {
                self.say("lose the instance");
                self.bed.restart_workspace("w", None);
            }
            92..96 => {
                let disk = Rc::clone(&self.bed.workspace("w").disk);
                let crash = match self.random.chance(50) {
                    true => Crash::AfterStep(disk.steps.get() + 1 + self.random.below(8)),
                    false => Crash::BeforeWrite(disk.writes.get() + 1 + self.random.below(60)),
                };
                self.say(&format!("lose-later the instance: {crash:?}"));
                self.bed.restart_workspace("w", Some(crash));
            }
            _ => {
                self.say("mend the service");
                self.bed.world.embeddings.mend();
            }
        }
    }

    fn change_catalog(&mut self) {
        const CATALOGS: [&[(&str, usize)]; 5] =
            [&[("m", 64)], &[("n", 64)], &[("m", 32)], &[("m", 64), ("n", 64)], &[]];
        self.models = self.random.pick(&CATALOGS).to_vec();
        self.say(&format!("embed-by {:?}", self.models));
        let models = self.models.clone();
        self.bed.configure(|catalog| {
            for (agent, (model, dimensions)) in ["default", "replay"].iter().zip(models) {
                let embeddings = json!({ "Model": model, "Dimensions": dimensions });
                catalog["AgentContexts"][agent]["Retrieval"] =
                    json!({ "Index": { "Embeddings": embeddings } });
            }
        });
    }

    fn spoil(&mut self) {
        let embeddings = &self.bed.world.embeddings;
        let what = match self.random.below(7) {
            0 => {
                embeddings.script([EmbeddingsFault::Refusal(429, vec![("retry-after", "1")])]);
                "429"
            }
            1 => {
                embeddings.script([EmbeddingsFault::status(500), EmbeddingsFault::status(500)]);
                "500"
            }
            2 => {
                embeddings.script([EmbeddingsFault::status(400)]);
                "400"
            }
            3 => {
                embeddings.script([EmbeddingsFault::Silence]);
                "silence"
            }
            4 => {
                embeddings.script([EmbeddingsFault::Spoilt(|answer| answer["data"] = json!([]))]);
                "nothing"
            }
            5 => {
                embeddings.think(|_| Some(EmbeddingsFault::Unreachable));
                "unreachable"
            }
            _ => {
                embeddings.think(|request| {
                    (request.inputs().len() > 2).then(|| EmbeddingsFault::status(413))
                });
                "little at once"
            }
        };
        self.say(&format!("service: {what}"));
    }

    /// Lets time pass: tasks run, and alarms ring when they are due.
    fn pass(&mut self, steps: u64) {
        let mut is_over = steps < ALL;
        for _ in 0..steps {
            self.bed.ring_due();
            if self.bed.step() {
                continue;
            }
            let Some(wait_ms) = self.bed.rings_in("w") else {
                is_over = true;
                break;
            };
            self.bed.world.executor.set_now_ms(self.bed.world.executor.now_ms() + wait_ms);
        }
        assert!(is_over, "it goes on for ever");
        let open = std::mem::take(&mut self.open);
        for open in open {
            match open.pending.heard() {
                Some(heard) => self.hear(&open, &heard),
                None => self.open.push(open),
            }
        }
    }

    fn hear(&mut self, open: &Open, heard: &Heard) {
        let is_done = heard.status == 200;
        // Only a lost instance fails a request.
        let is_lost = self.met.keys().any(|what| what.starts_with("lose"));
        assert!(is_done || heard.status == 500 && is_lost, "{}", heard.text);
        *self.met.entry(format!("{}", heard.status)).or_default() += 1;
        let mut now = |path: &'static str, contents: Option<String>| {
            let may = self.may.entry(path).or_insert_with(|| May::from([None]));
            // The order of a document and an erasure is unknown.
            if is_done && (contents.is_some() || !open.beside_erasure) {
                may.clear();
            }
            may.insert(contents);
            if open.beside_erasure {
                may.insert(None);
            }
        };
        match &open.asked {
            Asked::Put(documents) => {
                for (path, contents) in documents {
                    now(path, Some(contents.clone()));
                }
            }
            Asked::Remove(path) => now(path, None),
            Asked::Erase => {
                // Others report what they write meanwhile when they are done.
                PATHS.iter().for_each(|path| now(path, None));
            }
            Asked::Look if is_done && heard.body["Result"].get("Chunks").is_some() => {
                for chunk in heard.result()["Chunks"].as_array().into_iter().flatten() {
                    let sent = &self.sent[chunk["Path"].as_str().unwrap()];
                    assert!(sent.contains(chunk["Text"].as_str().unwrap()), "{chunk}");
                    *self.met.entry("found".to_owned()).or_default() += 1;
                    if chunk["Explain"]["Similarity"].is_number() {
                        *self.met.entry("found-near".to_owned()).or_default() += 1;
                    }
                }
            }
            Asked::Look => {}
        }
    }

    fn end(&mut self) {
        self.bed.world.embeddings.mend();
        self.pass(ALL);
        assert!(self.open.is_empty(), "a request was never answered");
        if !self.is_steady {
            // The next change follows the new catalog.
            self.change_catalog();
            self.put(BTreeSet::from(["a.rs"]));
            self.pass(ALL);
        }
        let stored = self.bed.workspace("w").disk.read("SELECT path, sha256 FROM documents");
        for (path, may) in &self.may {
            let stored = stored.iter().find(|row| row["path"] == *path);
            let is_stored = |may: &Option<String>| {
                may.as_ref().map(|contents| json!(sha256_hex(contents.as_bytes())))
                    == stored.map(|row| row["sha256"].clone())
            };
            assert!(may.iter().any(is_stored), "{path}: {stored:?}");
        }
        if rows(self.bed, "sqlite_master") > 0 {
            let mut models = self.models.clone();
            models.sort_unstable();
            if rows(self.bed, "chunks") == 0 {
                // A model of which nothing was ever embedded may be noted or not.
                assert_eq!(rows(self.bed, "vectors"), 0);
            } else {
                assert_embedded(self.bed, &models, |_| false);
            }
        }
        assert_eq!(self.bed.rings_in("w"), None);
    }

    /// Everything is erased in the middle of embedding.
    fn erase_for_good(&mut self) {
        self.put(BTreeSet::from(["b.rs", "long.txt"]));
        let most = self.random.below(120);
        while !self.open.is_empty() {
            self.pass(1);
        }
        self.pass(most);
        self.say("erase");
        self.send(Asked::Erase, "DELETE", "", "");
        while !self.open.is_empty() {
            self.pass(1);
        }
        assert_eq!(rows(self.bed, "sqlite_master"), 0);
        let sent = self.bed.world.embeddings.requests().len();
        self.pass(ALL);
        assert_eq!(rows(self.bed, "sqlite_master"), 0, "it came back");
        assert_eq!(self.bed.world.embeddings.requests().len(), sent);
        assert_eq!(self.bed.rings_in("w"), None);
    }
}

fn run(seed: u64, loud: bool) -> BTreeMap<String, usize> {
    let bed = Bed::new();
    // An alarm that rings while a document is being written, or long after.
    bed.deploy("TURN_ALARM_MS", if seed.is_multiple_of(2) { "25" } else { "30000" });
    configure(&bed, by("m"));
    bed.world.shake(seed);
    bed.world.late_bodies.set(true);
    let mut story = Story {
        bed: &bed,
        random: Random(seed.wrapping_mul(0x3_0005)),
        open: Vec::new(),
        may: BTreeMap::new(),
        sent: BTreeMap::new(),
        models: vec![("m", DIMENSIONS)],
        is_steady: seed.is_multiple_of(3),
        words: 0,
        met: BTreeMap::new(),
        loud,
    };
    for _ in 0..20 {
        story.act();
        let steps = match story.random.below(3) {
            0 => 0,
            1 => story.random.below(12),
            _ => story.random.below(80),
        };
        story.pass(steps);
    }
    story.end();
    story.erase_for_good();
    story.met
}

#[test]
fn whatever_the_order_of_events_each_chunk_has_its_vector_and_what_is_erased_stays_so() {
    let expected =
        ["200", "500", "found-near", "erase", "embed-by", "lose", "lose-later", "remove"];
    run_seeds(SEEDS, LONG_SEEDS, &expected, run);
}
