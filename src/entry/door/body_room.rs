//! The room for request bodies in an isolate's memory (interface §3): a body that finds none is `overloaded`.
//!
//! The room owns a body, not the request: when a client leaves, the runtime drops the request without a
//! notice to anyone. The body of such a request is freed when its time is over.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::contract::{ErrorCode, Fault};
use crate::ports::RequestBody;

/// All bodies at once, in bytes: an isolate has 128 MB for everything.
const ROOM_BYTES: usize = 32 << 20;

/// The part of the room that long bodies may fill.
const LONG_ROOM_BYTES: usize = 24 << 20;

/// The longest body that counts as short.
const SHORT_BYTES: usize = 64 << 10;

/// The longest body that finds room.
pub(super) const LONGEST_BYTES: usize = LONG_ROOM_BYTES;

/// All bodies that an isolate's Worker holds at the moment.
#[derive(Debug, Default)]
pub(super) struct BodyRoom {
    slots: RefCell<Vec<Rc<Slot>>>,
}

#[derive(Debug, Default)]
struct Slot {
    bytes: RefCell<Vec<u8>>,
    /// The bytes of the room that the body takes: all that have come, or all that were announced.
    taken: Cell<usize>,
    /// When the slot is freed, in milliseconds since the epoch.
    until_ms: Cell<u64>,
    is_freed: Cell<bool>,
}

/// A body in the room. Dropping it frees its slot.
#[derive(Debug)]
pub(super) struct HeldBody {
    room: Rc<BodyRoom>,
    slot: Rc<Slot>,
}

impl BodyRoom {
    /// A slot for a body of which nothing has come. Slots whose time is over are freed.
    pub(super) fn slot(self: &Rc<Self>, now_ms: u64, until_ms: u64) -> HeldBody {
        let mut slots = self.slots.borrow_mut();
        slots.retain(|slot| {
            let stays = slot.until_ms.get() >= now_ms;
            if !stays {
                slot.free();
            }
            stays
        });
        let slot = Rc::new(Slot { until_ms: Cell::new(until_ms), ..Slot::default() });
        slots.push(Rc::clone(&slot));
        HeldBody { room: Rc::clone(self), slot }
    }

    fn taken(&self) -> usize {
        self.slots.borrow().iter().map(|slot| slot.taken.get()).sum()
    }
}

impl Slot {
    fn free(&self) {
        self.is_freed.set(true);
        self.taken.set(0);
        self.bytes.take();
    }
}

impl HeldBody {
    /// Takes room for `bytes` in all. Part of the room is for short bodies alone, so that long bodies do not
    /// keep other clients' plain turns out.
    pub(super) fn take_room(&self, bytes: usize) -> Result<(), Fault> {
        let taken = self.slot.taken.get();
        if bytes <= taken {
            return Ok(());
        }
        let room = if bytes <= SHORT_BYTES { ROOM_BYTES } else { LONG_ROOM_BYTES };
        if self.slot.is_freed.get() || self.room.taken() - taken + bytes > room {
            let message = "Too many long bodies are being received. Wait as Retry-After says, and send the request again.";
            return Err(Fault::new(ErrorCode::Overloaded, message));
        }
        self.slot.taken.set(bytes);
        Ok(())
    }

    /// Makes the memory for `bytes` in all, for which room was taken.
    pub(super) fn expect(&self, bytes: usize) {
        self.slot.bytes.borrow_mut().reserve_exact(bytes);
    }

    /// Adds bytes that have come.
    pub(super) fn add(&self, piece: &[u8]) -> Result<(), Fault> {
        self.take_room(self.length() + piece.len())?;
        self.slot.bytes.borrow_mut().extend_from_slice(piece);
        Ok(())
    }

    /// Reads what has come.
    pub(super) fn read<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        read(&self.slot.bytes.borrow())
    }

    /// Keeps the body until then, in milliseconds since the epoch: the object's time to take it.
    pub(super) fn keep_until(&self, until_ms: u64) {
        self.slot.until_ms.set(until_ms);
    }
}

impl RequestBody for HeldBody {
    fn length(&self) -> usize {
        self.slot.bytes.borrow().len()
    }

    fn piece(&self, from: usize, most: usize) -> Option<Vec<u8>> {
        let bytes = self.slot.bytes.borrow();
        let rest = bytes.get(from..)?;
        Some(rest.get(..most).unwrap_or(rest).to_vec())
    }
}

impl Drop for HeldBody {
    fn drop(&mut self) {
        self.slot.free();
        self.room.slots.borrow_mut().retain(|slot| !Rc::ptr_eq(slot, &self.slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator of numbers: 64-bit xorshift.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % end as u64) as usize
        }
    }

    #[test]
    fn the_room_is_never_overfilled_and_all_of_it_is_given_back_on_every_way() {
        for seed in 1..200 {
            let mut numbers = Numbers(seed);
            let (room, mut now) = (Rc::new(BodyRoom::default()), 0);
            let mut held: Vec<HeldBody> = Vec::new();
            let mut forgotten = Vec::new();
            for _ in 0..300 {
                now += numbers.below(20) as u64;
                match numbers.below(6) {
                    0 | 1 => held.push(room.slot(now, now + 100)),
                    // A client leaves, and the runtime drops its request without running destructors.
                    2 if !held.is_empty() => {
                        forgotten.push(held.swap_remove(numbers.below(held.len())))
                    }
                    3 if !held.is_empty() => drop(held.swap_remove(numbers.below(held.len()))),
                    _ if !held.is_empty() => {
                        let body = &held[numbers.below(held.len())];
                        let before = room.taken();
                        let longest = [SHORT_BYTES, 12 << 20][numbers.below(2)];
                        let bytes = numbers.below(longest);
                        if body.take_room(bytes).is_err() {
                            assert_eq!(room.taken(), before, "a refusal takes nothing");
                        }
                    }
                    _ => {}
                }
                assert!(room.taken() <= ROOM_BYTES);
            }
            drop(held);
            drop(room.slot(now + 101, now + 101));
            assert_eq!((room.taken(), room.slots.borrow().len()), (0, 0));
            let late = forgotten.iter().map(|body| (body.take_room(1).is_err(), body.length()));
            assert!(
                late.into_iter().all(|late| late == (true, 0)),
                "a freed slot takes nothing more"
            );
        }
    }

    #[test]
    fn long_bodies_leave_room_for_short_ones() {
        let room = Rc::new(BodyRoom::default());
        let long = room.slot(0, 1);
        long.take_room(LONG_ROOM_BYTES).unwrap();
        let refused = room.slot(0, 1).take_room(SHORT_BYTES + 1).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Overloaded);
        let most = (ROOM_BYTES - LONG_ROOM_BYTES) / SHORT_BYTES;
        let short: Vec<HeldBody> = (0..most).map(|_| room.slot(0, 1)).collect();
        assert!(short.iter().all(|body| body.take_room(SHORT_BYTES).is_ok()));
        assert!(room.slot(0, 1).take_room(1).is_err());
        drop(long);
        room.slot(0, 1).take_room(SHORT_BYTES + 1).unwrap();
    }

    #[test]
    fn a_body_is_kept_as_it_came_and_read_piece_by_piece() {
        let room = Rc::new(BodyRoom::default());
        let body = room.slot(0, 1);
        body.add(b"abc").unwrap();
        body.add(b"de").unwrap();
        assert_eq!(body.read(<[u8]>::to_vec), b"abcde");
        let piece = |from| body.piece(from, 2);
        assert_eq!(piece(0).unwrap(), b"ab");
        assert_eq!(piece(4).unwrap(), b"e");
        assert_eq!((piece(5).unwrap(), piece(6)), (Vec::new(), None));
    }
}
