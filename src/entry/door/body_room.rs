//! The room for request bodies in an isolate's memory (interface §3): a body that finds none is `overloaded`.
//!
//! The room owns the bodies, and not the requests that they belong to: the runtime forgets a request whose
//! client has left without telling anyone. What such a request left behind goes when its time is over.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::contract::{ErrorCode, Fault};
use crate::ports::RequestBody;

/// All bodies at once, in bytes: an isolate has 128 MB for everything.
const ROOM_BYTES: usize = 32 << 20;

/// The part of it that long bodies may fill.
const LONG_ROOM_BYTES: usize = 24 << 20;

/// The longest body that counts as short.
const SHORT_BYTES: usize = 64 << 10;

/// The longest body that finds room.
pub(super) const LONGEST_BYTES: usize = LONG_ROOM_BYTES;

/// All bodies that an isolate's Worker holds at the moment.
#[derive(Debug, Default)]
pub(super) struct BodyRoom {
    places: RefCell<Vec<Rc<Place>>>,
}

#[derive(Debug, Default)]
struct Place {
    bytes: RefCell<Vec<u8>>,
    /// The bytes that it takes of the room: all that have come, or all that were announced.
    taken: Cell<usize>,
    /// When it is given up, in milliseconds since the epoch.
    until_ms: Cell<u64>,
    is_given_up: Cell<bool>,
}

/// A body in the room. Dropping it frees its place.
#[derive(Debug)]
pub(super) struct HeldBody {
    room: Rc<BodyRoom>,
    place: Rc<Place>,
}

impl BodyRoom {
    /// A place for a body of which nothing has come. Places whose time is over are freed.
    pub(super) fn place(self: &Rc<Self>, now_ms: u64, until_ms: u64) -> HeldBody {
        let mut places = self.places.borrow_mut();
        places.retain(|place| {
            let stays = place.until_ms.get() >= now_ms;
            if !stays {
                place.give_up();
            }
            stays
        });
        let place = Rc::new(Place { until_ms: Cell::new(until_ms), ..Place::default() });
        places.push(Rc::clone(&place));
        HeldBody { room: Rc::clone(self), place }
    }

    fn taken(&self) -> usize {
        self.places.borrow().iter().map(|place| place.taken.get()).sum()
    }
}

impl Place {
    fn give_up(&self) {
        self.is_given_up.set(true);
        self.taken.set(0);
        self.bytes.take();
    }
}

impl HeldBody {
    /// Takes room for `bytes` in all. Part of the room is for short bodies alone, so that long ones do not
    /// keep everybody else's plain turns out.
    pub(super) fn take_room(&self, bytes: usize) -> Result<(), Fault> {
        let taken = self.place.taken.get();
        if bytes <= taken {
            return Ok(());
        }
        let room = if bytes <= SHORT_BYTES { ROOM_BYTES } else { LONG_ROOM_BYTES };
        if self.place.is_given_up.get() || self.room.taken() - taken + bytes > room {
            let message = "Too many long bodies are being received. Wait as Retry-After says, and send the request again.";
            return Err(Fault::new(ErrorCode::Overloaded, message));
        }
        self.place.taken.set(bytes);
        Ok(())
    }

    /// Makes the memory for `bytes` in all, for which room was taken.
    pub(super) fn expect(&self, bytes: usize) {
        self.place.bytes.borrow_mut().reserve_exact(bytes);
    }

    /// Adds bytes that have come.
    pub(super) fn add(&self, piece: &[u8]) -> Result<(), Fault> {
        self.take_room(self.length() + piece.len())?;
        self.place.bytes.borrow_mut().extend_from_slice(piece);
        Ok(())
    }

    /// Reads what has come.
    pub(super) fn read<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        read(&self.place.bytes.borrow())
    }

    /// Gives the object until then to take the body.
    pub(super) fn keep_until(&self, until_ms: u64) {
        self.place.until_ms.set(until_ms);
    }
}

impl RequestBody for HeldBody {
    fn length(&self) -> usize {
        self.place.bytes.borrow().len()
    }

    fn piece(&self, from: usize, most: usize) -> Option<Vec<u8>> {
        let bytes = self.place.bytes.borrow();
        let rest = bytes.get(from..)?;
        Some(rest.get(..most).unwrap_or(rest).to_vec())
    }
}

impl Drop for HeldBody {
    fn drop(&mut self) {
        self.place.give_up();
        self.room.places.borrow_mut().retain(|place| !Rc::ptr_eq(place, &self.place));
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
                    0 | 1 => held.push(room.place(now, now + 100)),
                    // A client goes away, and its request hears nothing of it.
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
            drop(room.place(now + 101, now + 101));
            assert_eq!((room.taken(), room.places.borrow().len()), (0, 0));
            let late = forgotten.iter().map(|body| (body.take_room(1).is_err(), body.length()));
            assert!(late.into_iter().all(|found| found == (true, 0)), "what was given up stays so");
        }
    }

    #[test]
    fn long_bodies_leave_room_for_short_ones() {
        let room = Rc::new(BodyRoom::default());
        let long = room.place(0, 1);
        long.take_room(LONG_ROOM_BYTES).unwrap();
        let refused = room.place(0, 1).take_room(SHORT_BYTES + 1).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Overloaded);
        let most = (ROOM_BYTES - LONG_ROOM_BYTES) / SHORT_BYTES;
        let short: Vec<HeldBody> = (0..most).map(|_| room.place(0, 1)).collect();
        assert!(short.iter().all(|body| body.take_room(SHORT_BYTES).is_ok()));
        assert!(room.place(0, 1).take_room(1).is_err());
        drop(long);
        room.place(0, 1).take_room(SHORT_BYTES + 1).unwrap();
    }

    #[test]
    fn a_body_is_kept_as_it_came_and_read_piece_by_piece() {
        let room = Rc::new(BodyRoom::default());
        let body = room.place(0, 1);
        body.add(b"abc").unwrap();
        body.add(b"de").unwrap();
        assert_eq!(body.read(<[u8]>::to_vec), b"abcde");
        let piece = |from| body.piece(from, 2);
        assert_eq!(piece(0).unwrap(), b"ab");
        assert_eq!(piece(4).unwrap(), b"e");
        assert_eq!((piece(5).unwrap(), piece(6)), (Vec::new(), None));
    }
}
