//! Where the walk takes place: a catalog with everything, a model that takes its time, and a guarded tool that often fails.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bed::*;
use serde_json::json;

use super::credentials::By;
use super::decisions::GUARDED;
use crate::users::people::people;

pub(super) struct Setting {
    pub(super) bed: Bed,
    /// The guarded tool fails at times.
    pub(super) fails: Rc<Cell<bool>>,
    pub(super) in_background: bool,
    /// Responses are deleted at the service with their session.
    pub(super) deletes: bool,
}

impl Setting {
    pub(super) fn of(seed: u64, by: By) -> Self {
        let bed = people();
        // None of them decides on another one, nor on who may decide.
        let (in_background, deletes) = (seed % 4 == 1, (seed / 4).is_multiple_of(2));
        bed.deploy("HOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        bed.configure(|catalog| {
            for tool in catalog["ServerTools"].as_array_mut().unwrap() {
                if tool["Name"] == GUARDED {
                    tool["Approval"] = json!({ "When": "Always", "By": by.as_str() });
                    tool["OnError"] = json!("FailTurn");
                }
            }
            let agent = &mut catalog["AgentContexts"]["default"];
            agent["Budget"] = json!({ "UserTokensPerDay": 1_000_000_000, "Lease": 100 });
            agent["DeleteStored"] = json!(deletes);
            if in_background {
                agent["Background"] = json!("Always");
            }
            if seed / 3 % 3 == 2 {
                agent["Compaction"] = json!({ "Threshold": 1_000, "By": "Own" });
            }
            let hook =
                json!({ "Url": "https://hooks.example/in", "SigningSecrets": ["HOOK_SECRET"] });
            catalog["Webhooks"] = json!({ "done": hook });
            catalog["ConversationContexts"]["default"]["Webhooks"] = json!(["done"]);
        });
        let documents = json!({ "Documents": [{ "Path": "a.md", "Contents": "Some words\n" }] });
        bed.asked("PUT", "/workspaces/w/documents", &documents.to_string()).result();
        bed.world.model.counts.set(true);
        bed.world.model.forgetful_of_bodies.set(true);
        let pace = RefCell::new(Random(seed ^ 0x9ace));
        bed.world.model.think(move |conversation| match planned(conversation) {
            Reply::Answer(answer) => {
                let pause_ms = *pace.borrow_mut().pick(&[0, 0, 30, 400]);
                answer.paced(pause_ms).into()
            }
            other => other,
        });
        let (fails, luck) = (Rc::new(Cell::new(true)), RefCell::new(Random(seed ^ 0x100c)));
        let may_fail = Rc::clone(&fails);
        bed.world.tools.think(move |call| {
            let is_guarded = call["Name"] == GUARDED;
            match may_fail.get() && is_guarded && luck.borrow_mut().chance(60) {
                true => ToolAnswer::Status(500),
                false => ToolAnswer::Json(json!({ "found": call["ToolCallId"] })),
            }
        });
        Self { bed, fails, in_background, deletes }
    }
}
