//! The service behind every URL whose path ends in `/embeddings`. Its vectors are honest: texts with the same
//! words, or with words of the same meaning, are near to each other, by each model in a space of its own.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

use aptix_edge::encoding::sha256_hex;
use aptix_edge::ports::{HttpFault, HttpRequest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::executor::Random;
use super::scripted_service::HttpReply;

/// Words of one meaning.
const SYNONYMS: &[&[&str]] = &[
    &["automobile", "car"],
    &["invoice", "bill"],
    &["delete", "remove", "erase"],
    &["physician", "doctor"],
];

/// Words without a meaning of their own.
const FILLERS: &[&str] = &["a", "an", "the", "is", "are", "in", "of", "to", "which", "where", "md"];

/// What the service does instead of an honest answer.
#[derive(Clone)]
pub enum EmbeddingsFault {
    /// A status with headers. The body tells all that the service knows of the request, keys included.
    Refusal(u16, Vec<(&'static str, &'static str)>),
    /// A body in place of an answer.
    Text(String),
    /// The honest answer, changed.
    Spoilt(fn(&mut Value)),
    /// No reply, for as long as the caller waits.
    Silence,
    Unreachable,
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct EmbeddingsRequest {
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

#[derive(Default)]
pub struct EmbeddingsService {
    requests: RefCell<Vec<EmbeddingsRequest>>,
    script: RefCell<VecDeque<EmbeddingsFault>>,
    mind: RefCell<Option<Box<Mind>>>,
    /// The numbers of a vector where the request names none; 0 stands for 64.
    pub usual_dimensions: Cell<usize>,
}

/// Decides what becomes of a request when nothing is scripted; `None` is the honest answer.
type Mind = dyn Fn(&EmbeddingsRequest) -> Option<EmbeddingsFault>;

impl EmbeddingsFault {
    pub fn status(status: u16) -> Self {
        Self::Refusal(status, Vec::new())
    }
}

impl EmbeddingsRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        header.map(|(_, value)| value.as_str())
    }

    pub fn inputs(&self) -> Vec<&str> {
        let inputs = self.body["input"].as_array().expect("the input is an array");
        inputs.iter().map(|input| input.as_str().expect("an input is a text")).collect()
    }

    pub fn model(&self) -> &str {
        self.body["model"].as_str().expect("a request names its model")
    }
}

impl EmbeddingsService {
    /// Queues faults for the next requests.
    pub fn script(&self, faults: impl IntoIterator<Item = EmbeddingsFault>) {
        self.script.borrow_mut().extend(faults);
    }

    /// Decides on all requests for which nothing is scripted.
    pub fn think(&self, mind: impl Fn(&EmbeddingsRequest) -> Option<EmbeddingsFault> + 'static) {
        self.mind.replace(Some(Box::new(mind)));
    }

    /// From now on all answers are honest.
    pub fn mend(&self) {
        self.script.take();
        self.mind.take();
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<EmbeddingsRequest> {
        self.requests.borrow().clone()
    }

    /// The reply to a request; `None` when there is none.
    pub fn take(&self, request: &HttpRequest) -> Option<Result<HttpReply, HttpFault>> {
        let body = serde_json::from_str(&request.body).expect("a request is JSON");
        let (url, headers) = (request.url.clone(), request.headers.clone());
        let request = EmbeddingsRequest { url, headers, body };
        self.requests.borrow_mut().push(request.clone());
        let scripted = self.script.borrow_mut().pop_front();
        let thought = || self.mind.borrow().as_ref().and_then(|mind| mind(&request));
        Some(Ok(match scripted.or_else(thought) {
            None => HttpReply::new(200, &self.answer(&request).to_string()),
            Some(EmbeddingsFault::Refusal(status, headers)) => {
                let told = json!({ "error": { "message": format!("{request:?}") } });
                let reply = HttpReply::new(status, &told.to_string());
                headers.into_iter().fold(reply, |reply, (name, value)| reply.with(name, value))
            }
            Some(EmbeddingsFault::Text(text)) => HttpReply::new(200, &text),
            Some(EmbeddingsFault::Spoilt(spoil)) => {
                let mut answer = self.answer(&request);
                spoil(&mut answer);
                HttpReply::new(200, &answer.to_string())
            }
            Some(EmbeddingsFault::Silence) => return None,
            Some(EmbeddingsFault::Unreachable) => {
                return Some(Err(HttpFault::Lost("connection refused".to_owned())));
            }
        }))
    }

    fn answer(&self, request: &EmbeddingsRequest) -> Value {
        let usual = Some(self.usual_dimensions.get()).filter(|usual| *usual > 0).unwrap_or(64);
        let dimensions =
            request.body["dimensions"].as_u64().map_or(usual, |wanted| wanted as usize);
        let is_base64 = request.body["encoding_format"] == "base64";
        let item = |(index, input): (usize, &str)| {
            let numbers = embedding(request.model(), dimensions, input);
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            let embedding = if is_base64 { json!(STANDARD.encode(bytes)) } else { json!(numbers) };
            json!({ "object": "embedding", "index": index, "embedding": embedding })
        };
        let data: Vec<Value> = request.inputs().into_iter().enumerate().map(item).collect();
        json!({ "object": "list", "data": data, "model": request.model(), "usage": {} })
    }
}

/// The vector of a text: each meaning has a direction of its own, and they are added up.
pub fn embedding(model: &str, dimensions: usize, text: &str) -> Vec<f32> {
    let mut times: BTreeMap<String, f32> = BTreeMap::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric()) {
        let word = word.to_lowercase();
        let stem = word.strip_suffix('s').unwrap_or(&word);
        let meaning = SYNONYMS.iter().find(|words| words.contains(&stem));
        *times.entry(meaning.map_or(stem, |words| words[0]).to_owned()).or_default() += 1.0;
    }
    times.retain(|word, _| !word.is_empty() && !FILLERS.contains(&word.as_str()));
    // A text without words has a direction as well.
    let mut numbers = vec![0.125; dimensions];
    for (meaning, times) in times {
        let seed = &sha256_hex(format!("{model} {dimensions} {meaning}").as_bytes())[..16];
        let mut random = Random(u64::from_str_radix(seed, 16).expect("it is hexadecimal"));
        for number in &mut numbers {
            *number += if random.chance(50) { times } else { -times };
        }
    }
    numbers
}
