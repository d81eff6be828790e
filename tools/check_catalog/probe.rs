//! What a model service can do for a session of the Worker's: a session is held with it, in one continuation, by
//! the Worker's own code with all its remedies, and each turn shows one thing.

use std::rc::Rc;

use aptix_edge::ports::HttpMethod;
use bed::{Bed, results, turn, with};
use serde_json::{Value, json};

use crate::network::{Exchange, Network};

const WORDS: [&str; 8] =
    ["pelican", "quartz", "lantern", "saffron", "juniper", "walrus", "cobalt", "thimble"];

/// How often a tool may be called again after its output before that counts as a loop.
const MOST_CALLS: usize = 3;

/// What a turn of the session came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As it should.
    Yes,
    /// In another way, named in a word or two.
    No(&'static str),
    /// To nothing, and why.
    Failed(String),
}

/// What was found of a service in one continuation.
pub(crate) struct Found {
    /// Its responses come as streams.
    pub(crate) streams: bool,
    /// The boot prompt reaches the model, with the first call and with later ones.
    pub(crate) boot_prompt: Outcome,
    /// A later turn knows what an earlier one said.
    pub(crate) remembers: Outcome,
    /// An instruction that equals the one before it counts as another one.
    pub(crate) repeats: Outcome,
    /// A tool is called, and its output ends the turn.
    pub(crate) tools: Outcome,
    /// The messages of the calls that were refused, so that the Worker made them in another way.
    pub(crate) refused: Vec<String>,
}

/// A session with the service.
pub(crate) struct Session<'b> {
    pub(crate) bed: &'b Bed,
    pub(crate) network: Rc<Network>,
}

/// How a turn ended.
pub(crate) enum Answer {
    Text(String),
    /// The ids of the calls of the client's tool.
    Calls(Vec<String>),
}

/// The boot prompt of the session. Its two words show whether it arrives with the first call, and with a later one.
pub(crate) fn boot_prompt() -> String {
    let [first, second, ..] = WORDS;
    format!(
        "You take part in a check of a service. The first code name is {first}, the second code name is {second}."
    )
}

/// A tool of the client's.
pub(crate) fn note_tool() -> Value {
    json!([{
        "type": "function", "name": "note", "description": "Writes down a word.",
        "parameters": { "type": "object", "properties": { "word": { "type": "string" } }, "required": ["word"] },
    }])
}

/// Holds the session; an error where the service gives no answer to its first turn.
pub(crate) fn found(bed: &Bed, network: Rc<Network>) -> Result<Found, String> {
    let [first, second, noted, ..] = WORDS;
    let session = Session { bed, network };
    let number = 100 + session.random(800);
    let alone = "and nothing else";
    let hears_first = session.says(
        &format!("Respond with the first code name of your instructions and the number {number}, {alone}."),
        first,
    );
    if let Outcome::Failed(why) = hears_first {
        return Err(why);
    }
    let next = format!(
        "Respond with the number that comes after the last number in this conversation, {alone}."
    );
    let remembers = session.says(&next, &(number + 1).to_string());
    let repeats = match remembers {
        Outcome::Yes => session.says(&next, &(number + 2).to_string()),
        // A service that forgets would be blamed twice.
        _ => Outcome::No("–"),
    };
    let hears_second = session
        .says(&format!("Respond with the second code name of your instructions, {alone}."), second);
    let tools = session.calls_a_tool(noted);
    let _ = bed.try_erase();
    let exchanges = session.network.exchanges();
    Ok(Found {
        streams: exchanges.iter().any(|exchange| exchange.streamed),
        boot_prompt: match (hears_first, hears_second) {
            (Outcome::Yes, Outcome::No(_)) => Outcome::No("at first"),
            (Outcome::Yes, later) => later,
            (first, _) => first,
        },
        remembers,
        repeats,
        tools,
        refused: refused(&exchanges),
    })
}

impl Session<'_> {
    /// Whether a turn's text holds a word.
    fn says(&self, instruction: &str, word: &str) -> Outcome {
        match self.turn(&turn(&self.next_id(), instruction)) {
            Ok(Answer::Text(text)) if text.to_lowercase().contains(word) => Outcome::Yes,
            Ok(_) => Outcome::No("no"),
            Err(why) => Outcome::Failed(why),
        }
    }

    /// Whether a tool of the client's is called, and whether its output is taken.
    fn calls_a_tool(&self, word: &str) -> Outcome {
        let tools = note_tool();
        let id = self.next_id();
        let instruction = format!(
            "Call the tool note with the word {word}. When it has written the word down, respond with OK and \
             nothing else."
        );
        let tools = json!({ "ToolsJson": tools.to_string() });
        let mut answer = self.turn(&with(turn(&id, &instruction), tools));
        for call in 0..=MOST_CALLS {
            match answer {
                Ok(Answer::Text(_)) => {
                    return if call == 0 { Outcome::No("no") } else { Outcome::Yes };
                }
                Ok(Answer::Calls(calls)) => {
                    let given: Vec<(&str, Value)> = calls
                        .iter()
                        .map(|call| (call.as_str(), json!("It is written down.")))
                        .collect();
                    answer = self.turn(&results(&id, &given));
                }
                Err(why) => return Outcome::Failed(why),
            }
        }
        Outcome::No("again and again")
    }

    pub(crate) fn turn(&self, request: &Value) -> Result<Answer, String> {
        let heard = self.bed.post(request);
        let result = heard.body.get("Result").filter(|result| !result.is_null());
        let Some(result) = result else {
            // The Worker's own message says little of the service.
            let ours = heard.body.pointer("/Errors/0/Message").and_then(Value::as_str);
            let ours = ours.unwrap_or("no response came to its end").to_owned();
            return Err(self.network.latest_fault().unwrap_or(ours));
        };
        let calls = result.get("ToolCalls").and_then(Value::as_array);
        Ok(match calls {
            Some(calls) => {
                let ids = calls.iter().filter_map(|call| call.get("ToolCallId")?.as_str());
                Answer::Calls(ids.map(str::to_owned).collect())
            }
            None => {
                let text = result.get("PrimaryOutputText").and_then(Value::as_str);
                Answer::Text(text.unwrap_or_default().to_owned())
            }
        })
    }

    pub(crate) fn next_id(&self) -> String {
        format!("t{}", self.bed.world.executor.number())
    }

    /// A number that differs from run to run, so that no service has it from an earlier one.
    pub(crate) fn random(&self, below: u64) -> u64 {
        self.bed.world.executor.now_ms() % below
    }
}

/// The messages of refused calls, each once.
fn refused(exchanges: &[Exchange]) -> Vec<String> {
    let mut messages = Vec::new();
    for exchange in exchanges.iter().filter(|exchange| exchange.method == HttpMethod::Post) {
        let is_refusal = exchange.status.is_some_and(|status| (400..500).contains(&status));
        if is_refusal && !messages.contains(&exchange.message) {
            messages.push(exchange.message.clone());
        }
    }
    messages
}
