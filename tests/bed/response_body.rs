//! The body of a service's response, which comes piece by piece.

use std::collections::VecDeque;
use std::rc::Rc;

use aptix_edge::ports::{HttpFault, ResponseBody};

use super::bill::CallEnd;
use super::instance::Instance;
use super::scripted_service::Piece;
use super::told::Told;
use super::world::World;

/// A response body, with the chunks that are still to come.
pub struct TestBody {
    pub(crate) world: Rc<World>,
    pub(crate) coming: VecDeque<Piece>,
    /// The end of the current wait.
    pub(crate) until: Option<u64>,
    /// Chunks that came one after the other are returned together.
    pub(crate) gathers: bool,
    /// Set for the model service. The call stays open until its body is read to the end or dropped.
    pub(crate) call: Option<OpenCall>,
    pub(crate) told: Option<Told>,
}

/// A call to the model service that has not ended. Dropping it aborts the call.
pub(crate) struct OpenCall {
    world: Rc<World>,
    /// Whoever makes it.
    instance: Rc<Instance>,
    /// The place of its bill, once there is one.
    pub(crate) bill: Option<usize>,
}

impl ResponseBody for TestBody {
    async fn chunk(&mut self, _: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        self.wait_over(0).await;
        let next = self.coming.pop_front();
        match next {
            Some(Piece::Bytes(mut chunk)) => {
                while self.gathers
                    && let Some(Piece::Bytes(more)) = self.coming.front()
                {
                    chunk.extend_from_slice(more);
                    self.coming.pop_front();
                }
                if self.coming.is_empty() {
                    self.end();
                }
                if let Some(told) = &mut self.told {
                    told.read(&chunk);
                }
                Ok(Some(chunk))
            }
            Some(Piece::Broken) => {
                self.end();
                if let Some(told) = &mut self.told {
                    told.end(true);
                }
                Err(HttpFault::Lost("connection reset".to_owned()))
            }
            Some(Piece::EndlessSilence) => std::future::pending().await,
            Some(Piece::Silence(_)) | None => {
                self.end();
                if let Some(told) = &mut self.told {
                    told.end(false);
                }
                Ok(None)
            }
        }
    }

    fn gather(&mut self) {
        self.gathers = true;
    }

    async fn gathered(&mut self) -> bool {
        loop {
            let there = usize::from(matches!(self.coming.front(), Some(Piece::Bytes(_))));
            self.wait_over(there).await;
            match self.coming.get(there) {
                Some(Piece::Bytes(_)) if there == 1 => self.join_first(),
                Some(Piece::Bytes(_) | Piece::Silence(_)) => {}
                Some(Piece::Broken) => return false,
                Some(Piece::EndlessSilence) => std::future::pending().await,
                None => return true,
            }
        }
    }

    fn drain(mut self) {
        self.end();
    }
}

impl TestBody {
    /// Waits until the silence at `at` is over. Dropping the future loses nothing.
    async fn wait_over(&mut self, at: usize) {
        while let Some(Piece::Silence(ms)) = self.coming.get(at) {
            let executor = &self.world.executor;
            let until = *self.until.get_or_insert(executor.now_ms() + ms);
            executor.sleep(until.saturating_sub(executor.now_ms())).await;
            self.coming.remove(at);
            self.until = None;
        }
    }

    /// Joins the second chunk to the first, as the runtime does with what gathers.
    fn join_first(&mut self) {
        if let Some(Piece::Bytes(more)) = self.coming.remove(1)
            && let Some(Piece::Bytes(first)) = self.coming.front_mut()
        {
            first.extend(more);
        }
    }

    fn end(&mut self) {
        if let Some(call) = self.call.take() {
            call.ended();
        }
    }
}

impl OpenCall {
    pub(crate) fn new(world: &Rc<World>, instance: &Rc<Instance>) -> Self {
        let model = &world.model;
        model.open.set(model.open.get() + 1);
        model.most_open.set(model.most_open.get().max(model.open.get()));
        Self { world: Rc::clone(world), instance: Rc::clone(instance), bill: None }
    }

    pub(crate) fn ended(mut self) {
        let aborted = &self.world.model.aborted;
        // The drop below counts the call as aborted, which this one was not.
        aborted.set(aborted.get().wrapping_sub(1));
        self.settle(CallEnd::Ended);
    }

    fn settle(&mut self, end: CallEnd) {
        if let Some(bill) = self.bill.take() {
            self.world.model.bills.borrow_mut()[bill].end = end;
        }
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let end = if self.instance.alive() { CallEnd::Aborted } else { CallEnd::Lost };
        self.settle(end);
        let model = &self.world.model;
        model.open.set(model.open.get() - 1);
        model.aborted.set(model.aborted.get().wrapping_add(1));
    }
}
