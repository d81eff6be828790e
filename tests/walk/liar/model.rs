//! A model that says and calls whatever comes to its mind.

use std::cell::RefCell;

use bed::*;
use serde_json::json;

/// A mind that the seed decides.
pub(super) fn improvised(seed: u64) -> impl Fn(&Conversation) -> Reply + 'static {
    let random = RefCell::new(Random(seed ^ 0x3141));
    move |conversation| {
        let random = &mut random.borrow_mut();
        let latest = conversation.user_texts().pop().unwrap_or_default();
        let items = match is_record(&latest) {
            true => vec![words("A summary.")],
            false => items(random),
        };
        says(items).paced(*random.pick(&[0, 0, 0, 30, 400])).into()
    }
}

fn words(text: &str) -> Item {
    Item::Text(text.split_inclusive(' ').map(str::to_owned).collect())
}

fn items(random: &mut Random) -> Vec<Item> {
    let number = random.below(1_000);
    let text = words(&format!("Some w\u{f6}rds, {number} of them."));
    let mut items = match random.below(10) {
        0 => vec![Item::Commentary(vec!["Let me see. ".to_owned()]), text],
        1 => vec![Item::Refusal("No.".to_owned())],
        2 => {
            let page = json!({ "type": "url_citation", "start_index": 0, "end_index": 4, "url": "https://a.example/", "title": "A" });
            vec![Item::Cited("As it is said.".to_owned(), vec![page])]
        }
        3 => vec![Item::Reasoning, text],
        4 => vec![text, words("And another.")],
        5..=7 => vec![text],
        _ => Vec::new(),
    };
    if items.is_empty() || random.chance(25) {
        if random.chance(30) {
            items.insert(0, Item::Reasoning);
        }
        for _ in 0..=random.below(4) {
            items.push(a_call(random));
        }
    }
    items
}

fn a_call(random: &mut Random) -> Item {
    let number = random.below(3);
    match random.below(10) {
        0..=3 => call("lookup", json!({ "of": number })),
        4..=5 => call("ask", json!({ "what": number })),
        6..=7 => call("fragile", json!({ "to": number })),
        8 => {
            let mode = *random.pick(&["plain", "ddr", "general", "nowhere"]);
            call("agent_change_mode", json!({ "mode": mode, "branch": false, "reason": "r" }))
        }
        _ => call("latched", json!({})),
    }
}
