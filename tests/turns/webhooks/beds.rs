//! Beds whose sessions tell a webhook of their turns.

use bed::*;
use serde_json::{Value, json};

pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
pub(crate) const URL: &str = "https://hooks.example/in?key=1";

/// Has the sessions of the default context tell a webhook, with these members besides.
pub(crate) fn tell(catalog: &mut Value, members: Value) {
    let webhook = with(json!({ "Url": URL, "SigningSecrets": ["HOOK_SECRET"] }), members);
    catalog["Webhooks"] = json!({ "done": webhook });
    catalog["ConversationContexts"]["default"]["Webhooks"] = json!(["done"]);
}

/// A session whose turns a webhook hears of.
pub(crate) fn told() -> Bed {
    told_to_crash(None)
}

/// The same; the first instance ends at `crash`.
pub(crate) fn told_to_crash(crash: Option<Crash>) -> Bed {
    let bed = Bed::with_crash(crash);
    bed.deploy("HOOK_SECRET", SECRET);
    bed.configure(|catalog| tell(catalog, json!({})));
    bed
}

/// The number of messages that wait.
pub(crate) fn waiting(bed: &Bed) -> usize {
    bed.disk.read("SELECT 1 FROM tasks WHERE kind = 'webhook' AND state = 'pending'").len()
}

/// Rings the alarm each time it is due, until no message waits.
pub(crate) fn deliver_all(bed: &Bed) {
    bed.settle();
    for _ in 0..100 {
        if waiting(bed) == 0 {
            return;
        }
        let at = bed.world.alarm_at.get().expect("a message waits without an alarm");
        bed.world.executor.set_now_ms(at.max(bed.world.executor.now_ms()));
        bed.alarm();
        bed.settle();
    }
    panic!("a message waits for ever");
}

/// `Webhooks` of a turn's trace.
pub(crate) fn states(bed: &Bed, turn: &str) -> Vec<Value> {
    let trace = bed.asked("GET", &format!("/sessions/s/turns/{turn}/trace"), "");
    trace.result()["Webhooks"].as_array().cloned().unwrap_or_default()
}
