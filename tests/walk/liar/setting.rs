//! The catalogs under which the walk takes place, one after the other.

use bed::*;
use serde_json::{Value, json};

use crate::users::people::people;

pub(super) struct Setting {
    seed: u64,
}

impl Setting {
    /// A bed whose services lie, and its first catalog.
    pub(super) fn of(seed: u64) -> (Bed, Self) {
        let bed = people();
        bed.deploy("HOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        bed.deploy("UPSTREAM_IDLE_TIMEOUT_MS", "20000");
        let documents = json!({ "Documents": [{ "Path": "a.md", "Contents": "Some words\n" }] });
        bed.asked("PUT", "/workspaces/w/documents", &documents.to_string()).result();
        for (number, service) in (0..).zip([&bed.world.model, &bed.world.spare]) {
            service.lies.begin(seed * 2 + number, [60, 25, 8][(seed % 3) as usize]);
            service.think(super::model::improvised(seed * 2 + number));
        }
        let setting = Self { seed };
        setting.put(&bed, &mut Random(seed ^ 0xca7a));
        (bed, setting)
    }

    /// Puts a catalog with everything, in one of its forms.
    pub(super) fn put(&self, bed: &Bed, random: &mut Random) {
        let mut coin = |percent: u64| random.chance(percent);
        let stored = self.seed % 4 != 3;
        bed.configure(|catalog| {
            let agent = &mut catalog["AgentContexts"]["default"];
            if !stored || coin(10) {
                agent["Continuation"] = json!("replay");
            } else if coin(30) {
                agent["Background"] = json!("Always");
            }
            match self.seed / 4 % 4 {
                0 => {}
                1 => agent["Compaction"] = json!({ "By": "Own", "Threshold": 2_000 }),
                2 => agent["Compaction"] = json!({ "By": "Service", "Threshold": 2_000 }),
                _ => agent["Compaction"] = json!({ "By": "None" }),
            }
            agent["DeleteStored"] = json!(coin(40));
            agent["ResendTools"] = json!(coin(70));
            if coin(20) {
                let format = json!({ "format": { "type": "json_object" } });
                agent["ModelParameters"] = json!({ "text": format });
            }
            let spare = json!({ "BaseUrl": "https://spare.example/v1", "Model": "spare", "ApiKeySecret": "OPENAI_API_KEY",
                "Continuation": if coin(50) { "replay" } else { "stored" } });
            if coin(50) {
                agent["Fallbacks"] = json!(["spare"]);
            }
            catalog["AgentContexts"]["spare"] = spare;
            for tool in catalog["ServerTools"].as_array_mut().unwrap() {
                tool["Parallel"] = json!(coin(50));
            }
            let fragile = &mut catalog["ServerTools"][1];
            if coin(60) {
                fragile["Approval"] = json!({ "When": "Always", "AllowEdit": coin(50) });
            }
            let hook = json!({ "Url": "https://hooks.example/in", "SigningSecrets": ["HOOK_SECRET"] });
            catalog["Webhooks"] = json!({ "done": hook });
            let contexts = &mut catalog["ConversationContexts"];
            contexts["default"]["Webhooks"] = json!(["done"]);
            contexts["other"] = contexts["default"].clone();
            contexts["other"]["BootPrompt"] = json!("Boot otherwise.");
            if coin(15) {
                contexts["other"]["Instead"] = json!("default");
            }
        });
    }

    /// Bounds what may be spent.
    pub(super) fn bound(&self, bed: &Bed) {
        bed.configure(|catalog| {
            let agent = &mut catalog["AgentContexts"]["default"];
            agent["Budget"] =
                json!({ "UserTokensPerDay": 100_000, "Lease": 100, "SessionTokens": 50_000 });
            catalog["ConversationContexts"]["other"] =
                catalog["ConversationContexts"]["default"].clone();
        });
    }

    /// The honest service of an honest catalog.
    pub(super) fn mend(&self, bed: &Bed) {
        for service in [&bed.world.model, &bed.world.spare] {
            service.lies.end();
            service.mend();
            service.think(|_| say("Done.").into());
            service.background.drop_script();
            service.rules.refuse_nothing();
        }
        while bed.world.tools.drop_scripted() {}
        bed.configure(|catalog: &mut Value| {
            let contexts = &mut catalog["ConversationContexts"];
            contexts["other"] = contexts["default"].clone();
            catalog["AgentContexts"]["spare"] =
                json!({ "BaseUrl": "https://spare.example/v1", "Model": "spare" });
        });
    }
}
