//! A conversation as the model service holds it.

use std::rc::Rc;

use serde_json::Value;

/// An item of a conversation. Shared, since a long conversation is shown again with each request.
pub type ConversationItem = Rc<Value>;

/// Input and output items, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Conversation(pub Vec<ConversationItem>);

/// The essence of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    System(String),
    /// The text parts of a user message, joined.
    User(String),
    Assistant(String),
    /// Call id, name, arguments.
    Call(String, String, String),
    /// Call id, output.
    Output(String, String),
    Other,
}

impl Conversation {
    /// The input of a request.
    pub fn of(body: &Value) -> Self {
        Self(body["input"].as_array().unwrap().iter().cloned().map(Rc::new).collect())
    }

    pub fn said(&self) -> Vec<Said> {
        self.0.iter().map(|item| said(item)).collect()
    }

    /// The texts of the user messages, oldest first.
    pub fn user_texts(&self) -> Vec<String> {
        let user = |said| {
            if let Said::User(text) = said { Some(text) } else { None }
        };
        self.said().into_iter().filter_map(user).collect()
    }

    /// The number of times that `words` occurs in user messages.
    pub fn heard(&self, words: &str) -> usize {
        self.user_texts().iter().map(|text| text.matches(words).count()).sum()
    }

    /// The tool outputs, oldest first: call id, output.
    pub fn outputs(&self) -> Vec<(String, String)> {
        let output = |said| {
            if let Said::Output(id, text) = said { Some((id, text)) } else { None }
        };
        self.said().into_iter().filter_map(output).collect()
    }
}

fn said(item: &Value) -> Said {
    let member = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    match (item["type"].as_str(), item["role"].as_str()) {
        (Some("function_call"), _) => {
            Said::Call(member("call_id"), member("name"), member("arguments"))
        }
        (Some("function_call_output"), _) => Said::Output(
            member("call_id"),
            item["output"].as_str().map_or_else(|| item["output"].to_string(), str::to_owned),
        ),
        (_, Some("system")) => Said::System(text(&item["content"])),
        (_, Some("user")) => Said::User(text(&item["content"])),
        (_, Some("assistant")) => Said::Assistant(text(&item["content"])),
        _ => Said::Other,
    }
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str().or(part["refusal"].as_str()))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}
