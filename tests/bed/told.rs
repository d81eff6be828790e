//! What a client of the model service has been told of one response, by the bytes that it has read.

use std::rc::Rc;

use serde_json::Value;

use super::world::World;

pub struct Told {
    world: Rc<World>,
    id: String,
    /// The service stores the response.
    stores: bool,
    /// The usage at the end of one JSON answer; absent for a stream.
    json_usage: Option<Value>,
    bytes: Vec<u8>,
    /// So many of them belong to events that were looked at.
    seen: usize,
    is_held: bool,
    tokens: u64,
}

impl Told {
    /// Nothing yet of a response, which is one JSON answer or a stream.
    pub fn nothing(world: &Rc<World>, stores: bool, response: &Value, as_json: bool) -> Self {
        let id = response["id"].as_str().unwrap().to_owned();
        let tokens = world.model.told.borrow().get(&id).copied().unwrap_or_default();
        Self {
            world: Rc::clone(world),
            id,
            stores,
            json_usage: as_json.then(|| response["usage"].clone()),
            bytes: Vec::new(),
            seen: 0,
            is_held: false,
            tokens,
        }
    }

    /// The client has read some bytes more.
    pub fn read(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
        let whole = match (&self.json_usage, self.bytes.windows(2).rposition(|two| two == b"\n\n"))
        {
            (Some(_), _) => self.bytes.len(),
            (None, end) => end.map_or(0, |end| end + 2),
        };
        if self.stores && !self.is_held {
            let text = String::from_utf8_lossy(&self.bytes[..whole]);
            self.is_held = text.contains(&format!("\"id\":\"{}\"", self.id));
            if self.is_held {
                self.world.model.held.borrow_mut().insert(self.id.clone());
            }
        }
        if self.json_usage.is_some() {
            if self.bytes.len() <= 4096 {
                self.end(true);
            }
        } else if whole > self.seen {
            let events = String::from_utf8_lossy(&self.bytes[self.seen..whole]).into_owned();
            self.seen = whole;
            events.split_terminator("\n\n").for_each(|event| self.event(event));
        }
    }

    /// The body has ended, or broken off: what is left of it is read as it is.
    pub fn end(&mut self, broken: bool) {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        match self.json_usage.clone() {
            Some(usage) if text.contains(&format!("\"usage\":{usage}")) => self.count(&usage),
            None if !broken => self.event(text.rsplit("\n\n").next().unwrap_or_default()),
            _ => {}
        }
    }

    fn event(&mut self, event: &str) {
        let data = event.lines().find_map(|line| line.strip_prefix("data: "));
        if let Some(Ok(data)) = data.map(serde_json::from_str::<Value>) {
            self.count(&data["response"]["usage"]);
        }
    }

    fn count(&mut self, usage: &Value) {
        if let Some(tokens) = usage["total_tokens"].as_u64() {
            let told = &self.world.model.told_tokens;
            // A service that lies may tell of more than can be counted.
            told.set(told.get().wrapping_sub(self.tokens).wrapping_add(tokens));
            self.tokens = tokens;
            self.world.model.told.borrow_mut().insert(self.id.clone(), tokens);
        }
    }
}
