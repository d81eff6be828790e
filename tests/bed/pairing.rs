//! The live service's rule on reasoning and the items behind it: whoever gives one of them back, under its id, gives the
//! other, too.

use std::collections::BTreeMap;

use serde_json::Value;

/// What a model service remembers of the items that it gave out.
#[derive(Default)]
pub struct Pairing {
    /// The item right behind a reasoning item, by the ids of both.
    follower: BTreeMap<String, String>,
    /// The reasoning item before an item, up to the next reasoning, by the ids of both.
    reasoning: BTreeMap<String, String>,
}

impl Pairing {
    /// Remembers an output.
    pub fn give(&mut self, output: &[Value]) {
        let mut reasoning: Option<&str> = None;
        let mut before: Option<&str> = None;
        for item in output {
            let Some(id) = id(item) else { continue };
            if let Some(before) = before.take() {
                self.follower.insert(before.to_owned(), id.to_owned());
            }
            if item["type"] == "reasoning" {
                (reasoning, before) = (Some(id), Some(id));
            } else if item["type"] == "compaction" {
                // It stands for all that was before it.
                reasoning = None;
            } else if let Some(reasoning) = reasoning {
                self.reasoning.insert(id.to_owned(), reasoning.to_owned());
            }
        }
    }

    /// The fault of an input; `continues` says whether the conversation before it has an item of an id.
    pub fn fault(&self, continues: impl Fn(&str) -> bool, input: &[Value]) -> Option<String> {
        for (place, item) in input.iter().enumerate() {
            let Some(own) = id(item) else { continue };
            if item["type"] == "reasoning" {
                let next = input.get(place + 1).and_then(id);
                let follows = match self.follower.get(own) {
                    Some(follower) => next == Some(follower.as_str()),
                    None => false,
                };
                if !follows {
                    return Some(format!(
                        "Item '{own}' of type 'reasoning' was provided without its required following item."
                    ));
                }
            } else if let Some(reasoning) = self.reasoning.get(own)
                && !input[..place].iter().any(|item| id(item) == Some(reasoning))
                && !continues(reasoning)
            {
                return Some(format!(
                    "Item '{own}' of type {} was provided without its required 'reasoning' item: '{reasoning}'.",
                    item["type"].to_string().replace('"', "'")
                ));
            }
        }
        None
    }
}

fn id(item: &Value) -> Option<&str> {
    item["id"].as_str()
}
