//! A machine for unit tests of one step: a clock that moves only when everything waits for it,
//! answers that were scripted, and the requests that were sent.
//!
//! Architecture Invariant: no real time, no network, no order that could be another the next time.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::{FileFault, HttpFault, HttpRequest, HttpResponse, Platform, ResponseBody};

/// A scripted answer: its head, and what happens while its body is read.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    head_after_ms: u64,
    status: u16,
    headers: Vec<(String, String)>,
    body: VecDeque<Piece>,
}

/// What happens next to a body; after the last piece it ends.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    Silence(u64),
    Broken,
}

impl Answer {
    pub(crate) fn new(status: u16, body: &str) -> Self {
        Self::in_pieces(status, [Piece::text(body)])
    }

    pub(crate) fn in_pieces(status: u16, body: impl IntoIterator<Item = Piece>) -> Self {
        Self { head_after_ms: 0, status, headers: Vec::new(), body: body.into_iter().collect() }
    }

    pub(crate) fn with(mut self, header: &str, value: &str) -> Self {
        self.headers.push((header.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn after(mut self, ms: u64) -> Self {
        self.head_after_ms = ms;
        self
    }
}

impl Piece {
    pub(crate) fn text(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }
}

#[derive(Debug, Default)]
struct Clock {
    now: Cell<u64>,
    deadlines: RefCell<BTreeSet<u64>>,
}

impl Clock {
    fn sleep(&self, ms: u64) -> impl Future<Output = ()> + '_ {
        let deadline = self.now.get() + ms;
        poll_fn(move |_| {
            if self.now.get() >= deadline {
                return Poll::Ready(());
            }
            self.deadlines.borrow_mut().insert(deadline);
            Poll::Pending
        })
    }
}

/// The machine. A request that no answer was scripted for cannot be sent.
#[derive(Debug, Default)]
pub(crate) struct Double {
    clock: Rc<Clock>,
    answers: RefCell<VecDeque<Answer>>,
    sent: RefCell<Vec<HttpRequest>>,
    secrets: Vec<(&'static str, &'static str)>,
    files: RefCell<BTreeMap<String, Vec<u8>>>,
    file_fault: Option<FileFault>,
}

impl Double {
    pub(crate) fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: RefCell::new(answers.into_iter().collect()), ..Self::default() }
    }

    pub(crate) fn with_secret(mut self, name: &'static str, value: &'static str) -> Self {
        self.secrets.push((name, value));
        self
    }

    pub(crate) fn with_file_fault(mut self, fault: FileFault) -> Self {
        self.file_fault = Some(fault);
        self
    }

    /// The files that are kept, by their key.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.files.borrow().clone()
    }

    pub(crate) fn sent(&self) -> Vec<HttpRequest> {
        self.sent.borrow().clone()
    }

    /// Runs a future to its end, moving the clock from one deadline to the next.
    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(value) =
                future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                return value;
            }
            let next = self.clock.deadlines.borrow_mut().pop_first();
            self.clock.now.set(next.expect("it waits for something that never comes"));
        }
    }
}

impl Platform for Double {
    type Body = Body;

    fn now_ms(&self) -> u64 {
        self.clock.now.get()
    }

    fn random(&self) -> f64 {
        0.0
    }

    fn secret(&self, name: &str) -> Option<String> {
        let held = self.secrets.iter().find(|(known, _)| *known == name);
        held.map(|(_, value)| (*value).to_owned())
    }

    fn sleep(&self, ms: u64) -> impl Future<Output = ()> {
        self.clock.sleep(ms)
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse<Body>, HttpFault> {
        self.sent.borrow_mut().push(request);
        let answer = self.answers.borrow_mut().pop_front();
        let answer = answer.ok_or_else(|| HttpFault("10.0.0.1 refused".to_owned()))?;
        self.clock.sleep(answer.head_after_ms).await;
        let body = Body {
            clock: Rc::clone(&self.clock),
            pieces: answer.body,
            until: None,
            awaited: false,
        };
        Ok(HttpResponse { status: answer.status, headers: answer.headers, body })
    }

    async fn search_workspace(&self, _: &str, _: String) -> Result<String, HttpFault> {
        Err(HttpFault("there are no workspaces".to_owned()))
    }

    fn object_id(&self) -> String {
        "0b".repeat(32)
    }

    async fn keep_file(&self, key: &str, contents: Vec<u8>) -> Result<(), FileFault> {
        if let Some(fault) = self.file_fault {
            return Err(fault);
        }
        self.files.borrow_mut().insert(key.to_owned(), contents);
        Ok(())
    }

    async fn erase_files(&self, _: &str) -> Result<u64, FileFault> {
        panic!("a step erases no files");
    }

    fn spawn(&self, _: Pin<Box<dyn Future<Output = ()>>>) {
        panic!("a step starts no task");
    }

    async fn durable(&self) {
        panic!("a step stores nothing");
    }

    fn log(&self, _: serde_json::Value) {
        panic!("a step does not log");
    }
}

#[derive(Debug)]
pub(crate) struct Body {
    clock: Rc<Clock>,
    pieces: VecDeque<Piece>,
    /// When the silence ends that stands next.
    until: Option<u64>,
    /// What comes is kept together.
    awaited: bool,
}

impl ResponseBody for Body {
    async fn chunk(&mut self, _: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        self.silence_over(0).await;
        match self.pieces.pop_front() {
            Some(Piece::Bytes(mut bytes)) => {
                while self.awaited
                    && let Some(Piece::Bytes(more)) = self.pieces.front()
                {
                    bytes.extend_from_slice(more);
                    self.pieces.pop_front();
                }
                Ok(Some(bytes))
            }
            Some(Piece::Broken) => Err(HttpFault("10.0.0.1 reset".to_owned())),
            Some(Piece::Silence(_)) | None => Ok(None),
        }
    }

    async fn arrived(&mut self) -> bool {
        self.awaited = true;
        let mut there = 0;
        loop {
            self.silence_over(there).await;
            match self.pieces.get(there) {
                Some(Piece::Bytes(_)) => there += 1,
                Some(Piece::Silence(_)) => {}
                Some(Piece::Broken) => return false,
                None => return true,
            }
        }
    }

    fn attend(&mut self) {}

    fn finish(self) {}
}

impl Body {
    /// Waits for the end of the silence that stands at a place; giving up the waiting loses nothing.
    async fn silence_over(&mut self, at: usize) {
        while let Some(Piece::Silence(ms)) = self.pieces.get(at) {
            let until = *self.until.get_or_insert(self.clock.now.get() + ms);
            self.clock.sleep(until.saturating_sub(self.clock.now.get())).await;
            self.pieces.remove(at);
            self.until = None;
        }
    }
}
