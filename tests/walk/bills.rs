//! What is counted is at least what was sent out: each model call that the caller's side has ended is counted by an
//! estimate, in the session where it was made, and the user has spent what the user's sessions have, erased ones included.

use std::collections::BTreeMap;

use aptix_edge::encoding::sha256_hex;
use bed::*;
use serde_json::Value;

/// A service that is cheaper than any estimate: this many bytes are a token.
const BYTES_PER_TOKEN: u64 = 8;

/// The longest request to the model service, in bytes.
const MOST_BODY_BYTES: usize = 32_000_000;

/// Calls and their prompt tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Calls {
    number: u64,
    prompt_tokens: u64,
}

/// From where on the bills of a session are compared with its records.
#[derive(Clone, Copy, Debug, Default)]
struct Since {
    /// The session's life: another one begins after an erasure.
    life: Option<u64>,
    /// The instances of its object: what one had not recorded is lost with it.
    instances: u64,
    bills: usize,
    recorded: Calls,
}

#[derive(Default)]
pub(super) struct Bills {
    since: BTreeMap<String, Since>,
    /// The most tokens that each life of a session was seen to have spent.
    spent: BTreeMap<(String, u64), u64>,
    looked_at: usize,
    /// Aborted calls that were compared.
    pub(super) aborted: u64,
}

impl Bills {
    /// Compares the bills of a user's session with what it has recorded.
    pub(super) fn look_at(&mut self, bed: &Bed, user: &str, session: &str) {
        let object = bed.world.session(&format!("local/~{user}/{session}"));
        let stored = object.disk.session();
        let state = stored.as_ref().map(|stored| &stored["state"]);
        let life = state.map(|state| state["registration"].as_u64().unwrap_or_default());
        let fork =
            state.and_then(|state| state["fork"]["model_calls"].as_u64()).unwrap_or_default();
        let bills = bed.world.model.bills.borrow();
        let recorded = life.map(|_| recorded(&object.disk, fork)).unwrap_or_default();
        let instances = object.lives.get();
        let since = self.since.entry(session.to_owned()).or_default();
        if since.life != life || since.instances != instances || object.has_ended() {
            *since = Since { life, instances, bills: bills.len(), recorded };
        }
        if let (Some(life), Some(state)) = (life, state) {
            let total = state["total_tokens"].as_u64().unwrap_or_default();
            let most = self.spent.entry((session.to_owned(), life)).or_default();
            *most = total.max(*most);
        }
        let mut key = sha256_hex(format!("local\n~{user}\n{session}").as_bytes());
        key.truncate(32);
        let mut billed = Calls::default();
        let own = bills[since.bills..].iter().filter(|bill| bill.key == key);
        for bill in own.filter(|bill| bill.end == CallEnd::Aborted) {
            billed.number += 1;
            billed.prompt_tokens += bill.input_bytes as u64 / BYTES_PER_TOKEN;
        }
        let number = recorded.number - since.recorded.number;
        let tokens = recorded.prompt_tokens - since.recorded.prompt_tokens;
        assert!(number >= billed.number, "{session}: {billed:?} is billed, {number} are counted");
        assert!(
            tokens >= billed.prompt_tokens,
            "{session}: {billed:?} is billed, {tokens} counted"
        );
        self.aborted = self.aborted.max(billed.number);
    }

    /// Looks at each new call: how long it is, and that a session makes one at a time.
    pub(super) fn look_at_calls(&mut self, bed: &Bed) {
        let bills = bed.world.model.bills.borrow();
        let mut open: BTreeMap<&str, usize> = BTreeMap::new();
        // A call for a summary names no session.
        let is_open = |bill: &&Bill| bill.end == CallEnd::Open && !bill.key.is_empty();
        for bill in bills.iter().filter(is_open) {
            *open.entry(&bill.key).or_default() += 1;
        }
        assert!(open.values().all(|calls| *calls == 1), "{open:?} calls at once");
        for bill in &bills[self.looked_at..] {
            assert!(bill.body_bytes <= MOST_BODY_BYTES, "a call has {} bytes", bill.body_bytes);
        }
        self.looked_at = bills.len();
    }

    /// What the sessions of these names were seen to have spent, in all their lives.
    pub(super) fn spent(&self, sessions: &[String]) -> u64 {
        let own = self.spent.iter().filter(|((session, _), _)| sessions.contains(session));
        own.map(|(_, tokens)| tokens).sum()
    }
}

/// The estimated calls that a session has recorded of its own.
fn recorded(disk: &Disk, fork: u64) -> Calls {
    let mut rows = disk.read("SELECT model_call AS record FROM turns WHERE model_call IS NOT NULL");
    rows.extend(disk.read("SELECT record FROM model_calls"));
    let mut calls = Calls::default();
    for row in rows {
        let record: Value = serde_json::from_str(row["record"].as_str().unwrap()).unwrap();
        if record["Number"].as_u64().unwrap() > fork && record["Usage"]["Estimated"] == true {
            calls.number += 1;
            calls.prompt_tokens += record["Usage"]["PromptTokens"].as_u64().unwrap();
        }
    }
    calls
}
