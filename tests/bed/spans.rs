//! The machine's tracing: it keeps what was opened, inside of what, and with which attributes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use aptix_edge::contract::TraceContext;
use aptix_edge::ports::TraceSpan;
use serde_json::{Value, json};

/// A span, open or ended.
#[derive(Debug)]
pub struct Span {
    pub name: String,
    /// The number of the span that it is below.
    pub parent: Option<usize>,
    pub attributes: BTreeMap<&'static str, Value>,
    pub has_ended: bool,
}

/// The spans of a world.
#[derive(Debug, Default)]
pub struct Spans {
    /// Somebody listens.
    pub are_heard: Cell<bool>,
    /// The runtime tells where a span stands in its trace.
    pub are_told: Cell<bool>,
    kept: RefCell<Vec<Span>>,
    /// The spans inside of which the present step runs, the innermost last.
    inside: RefCell<Vec<usize>>,
}

/// A span that somebody holds.
#[derive(Debug)]
pub struct HeldSpan {
    spans: Rc<Spans>,
    number: usize,
}

impl Spans {
    /// Opens a span below the one that runs.
    pub fn open(self: &Rc<Self>, name: &str) -> Option<HeldSpan> {
        if !self.are_heard.get() {
            return None;
        }
        let parent = self.inside.borrow().last().copied();
        let mut kept = self.kept.borrow_mut();
        kept.push(Span {
            name: name.to_owned(),
            parent,
            attributes: BTreeMap::new(),
            has_ended: false,
        });
        Some(HeldSpan { spans: Rc::clone(self), number: kept.len() - 1 })
    }

    /// The spans so far, as trees: `{name, attributes, below}`.
    pub fn trees(&self) -> Value {
        self.below(None)
    }

    /// The names alone, each below its parent by two spaces.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.add_names(None, 0, &mut names);
        names
    }

    /// The attributes of the spans of that name.
    pub fn named(&self, name: &str) -> Vec<Value> {
        let kept = self.kept.borrow();
        let named = kept.iter().filter(|span| span.name == name);
        named.map(|span| json!(span.attributes)).collect()
    }

    /// Forgets the spans so far, all of which have ended.
    pub fn clear(&self) {
        assert!(self.kept.take().iter().all(|span| span.has_ended), "a span is still open");
    }

    fn add_names(&self, parent: Option<usize>, depth: usize, names: &mut Vec<String>) {
        let kept = self.kept.borrow();
        for (number, span) in kept.iter().enumerate().filter(|(_, span)| span.parent == parent) {
            names.push(format!("{}{}", "  ".repeat(depth), span.name));
            self.add_names(Some(number), depth + 1, names);
        }
    }

    fn below(&self, parent: Option<usize>) -> Value {
        let kept = self.kept.borrow();
        let below = kept.iter().enumerate().filter(|(_, span)| span.parent == parent);
        let tree = |(number, span): (usize, &Span)| {
            assert!(span.has_ended, "{} is still open", span.name);
            json!({ "name": span.name, "attributes": span.attributes, "below": self.below(Some(number)) })
        };
        below.map(tree).collect()
    }
}

impl HeldSpan {
    fn set(&self, name: &'static str, value: Value) {
        // The runtime prints a warning where an attribute is set twice, a line of the log that is no JSON.
        let before = self.spans.kept.borrow_mut()[self.number].attributes.insert(name, value);
        assert_eq!(before, None, "{name} is set twice");
    }
}

impl TraceSpan for HeldSpan {
    fn text(&self, name: &'static str, value: &str) {
        self.set(name, value.into());
    }

    fn number(&self, name: &'static str, value: f64) {
        self.set(name, value.into());
    }

    fn flag(&self, name: &'static str, value: bool) {
        self.set(name, value.into());
    }

    fn run(&self, work: &mut dyn FnMut()) {
        self.spans.inside.borrow_mut().push(self.number);
        work();
        self.spans.inside.borrow_mut().pop();
    }

    fn context(&self) -> Option<TraceContext> {
        let (trace, span) = ("5b8efff798038103d269b633813fc60c", self.number + 1);
        let parent = format!("00-{trace}-{span:016x}-01");
        TraceContext::read(Some(&parent), None).filter(|_| self.spans.are_told.get())
    }
}

impl Drop for HeldSpan {
    fn drop(&mut self) {
        // A crash ends the life of an instance in the middle of whatever it does.
        if let Ok(mut kept) = self.spans.kept.try_borrow_mut()
            && let Some(span) = kept.get_mut(self.number)
        {
            span.has_ended = true;
        }
    }
}
