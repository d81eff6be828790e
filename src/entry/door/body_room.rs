//! The room for request bodies in an isolate's memory (interface §3): it is taken as bytes come, whatever a client
//! announces. A body that finds none is `overloaded`, unless others have to give way: bodies that hardly come, and those of
//! whoever holds more than a share.
//!
//! The room owns a body, not the request: when a client leaves, the runtime drops the request without a
//! notice to anyone. The body of such a request is freed when its time is over. Nothing tells it from one whose client is
//! there, so one that has come whole gives way as others do, until its object has taken it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::body_freed::Freed;
use super::body_shares::{Holdings, Owner, ROOM_BYTES};
use crate::contract::Result;
use crate::ports::RequestBody;

/// The part of the room that long bodies may fill, so that plain turns get in meanwhile.
const LONG_ROOM_BYTES: usize = 24 << 20;

/// The longest body that counts as short.
pub(super) const SHORT_BYTES: usize = 64 << 10;

/// The longest body that finds room.
pub(super) const LONGEST_BYTES: usize = LONG_ROOM_BYTES;

/// A body of which fewer bytes than these came in this time gives way to whoever needs its room.
pub(super) const PACE_BYTES: usize = 16 << 10;
const PACE_MS: u64 = 5_000;

/// All bodies that an isolate's Worker holds at the moment.
#[derive(Debug, Default)]
pub(super) struct BodyRoom {
    /// The oldest first.
    slots: RefCell<Vec<Rc<Slot>>>,
    /// The bytes of all of them.
    taken: Cell<usize>,
}

#[derive(Debug, Default)]
struct Slot {
    owner: Owner,
    /// The bytes that have come; of a whole body, one piece; none when it was freed.
    pieces: RefCell<Vec<Vec<u8>>>,
    /// The number of bytes that have come.
    length: Cell<usize>,
    /// It announces, or has come to, more than [`SHORT_BYTES`].
    is_long: Cell<bool>,
    is_whole: Cell<bool>,
    /// When the latest [`PACE_BYTES`] had come, or all of it, in milliseconds since the epoch, and the bytes by then.
    paced: Cell<(u64, usize)>,
    /// When the slot is freed, in milliseconds since the epoch.
    until_ms: Cell<u64>,
    freed: Cell<Option<Freed>>,
}

/// A body in the room. Dropping it frees its slot.
pub(super) struct HeldBody {
    room: Rc<BodyRoom>,
    slot: Rc<Slot>,
}

impl BodyRoom {
    /// A slot for a body of which nothing has come. Slots whose time is over are freed.
    pub(super) fn slot(
        self: &Rc<Self>,
        owner: Owner,
        announced: Option<usize>,
        now_ms: u64,
        until_ms: u64,
    ) -> HeldBody {
        let mut slots = self.slots.borrow_mut();
        slots.retain(|slot| {
            slot.keep_to(now_ms);
            let stays = slot.until_ms.get() >= now_ms;
            if !stays {
                self.free(slot, Freed::Full);
            }
            stays
        });
        let slot = Rc::new(Slot {
            owner,
            is_long: Cell::new(announced.is_some_and(|length| length > SHORT_BYTES)),
            paced: Cell::new((now_ms, 0)),
            until_ms: Cell::new(until_ms),
            ..Slot::default()
        });
        slots.push(Rc::clone(&slot));
        HeldBody { room: Rc::clone(self), slot }
    }

    /// Frees the room of a body, which takes nothing from then on.
    fn free(&self, slot: &Slot, why: Freed) {
        self.take_back(slot);
        if slot.freed.get().is_none() {
            slot.freed.set(Some(why));
        }
    }

    fn take_back(&self, slot: &Slot) {
        self.taken.set(self.taken.get().saturating_sub(slot.taken()));
        slot.pieces.take();
    }

    /// Makes room for more bytes of a body, of which `lacking` find none. Others give way only where that is enough.
    fn make_room(
        &self,
        asking: &Rc<Slot>,
        bytes: usize,
        lacking: usize,
        now_ms: u64,
    ) -> Result<(), Freed> {
        let slots = self.slots.borrow();
        let others = || slots.iter().filter(|slot| !Rc::ptr_eq(slot, asking) && slot.taken() > 0);
        // One that has given way may stand in the list until its time is over: its client has left.
        let living = slots.iter().filter(|slot| slot.freed.get().is_none());
        let mut holdings = Holdings::of(living.map(|slot| (&slot.owner, slot.taken())));
        let mut giving: Vec<(&Rc<Slot>, Freed)> = Vec::new();
        let mut still = lacking;
        let mut slow: Vec<_> = others().filter(|slot| slot.is_slow(now_ms)).collect();
        slow.sort_by_key(|slot| slot.paced.get());
        for slot in slow {
            if still == 0 {
                break;
            }
            still = still.saturating_sub(slot.taken());
            holdings.take_out(&slot.owner, slot.taken());
            giving.push((slot, if slot.is_whole.get() { Freed::Full } else { Freed::Slow }));
        }
        if still > 0 && holdings.would_exceed(&asking.owner, bytes) {
            return Err(Freed::Share);
        }
        while still > 0 {
            let is_given =
                |slot: &Rc<Slot>| giving.iter().any(|(given, _)| Rc::ptr_eq(given, slot));
            let left = others()
                .filter(|slot| !is_given(slot))
                .filter_map(|slot| Some((holdings.gives_way(&slot.owner, &asking.owner)?, slot)));
            // Of several the newest one, which has cost least.
            let next = left.reduce(|one, other| if other.0 >= one.0 { other } else { one });
            let (_, next) = next.ok_or(Freed::Full)?;
            still = still.saturating_sub(next.taken());
            holdings.take_out(&next.owner, next.taken());
            giving.push((next, Freed::Share));
        }
        giving.into_iter().for_each(|(slot, why)| self.free(slot, why));
        Ok(())
    }
}

impl Slot {
    /// The bytes of the room that it takes.
    fn taken(&self) -> usize {
        if self.freed.get().is_some() { 0 } else { self.length.get() }
    }

    /// `overloaded` where it had to give way.
    fn check(&self) -> Result<()> {
        self.freed.get().map_or(Ok(()), |why| Err(why.fault()))
    }

    /// Keeps its times to a clock that was set back.
    fn keep_to(&self, now_ms: u64) {
        let (paced, bytes) = self.paced.get();
        let ahead_ms = paced.saturating_sub(now_ms);
        self.paced.set((paced - ahead_ms, bytes));
        self.until_ms.set(self.until_ms.get().saturating_sub(ahead_ms));
    }

    fn is_slow(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.paced.get().0) >= PACE_MS
    }
}

impl HeldBody {
    /// Adds bytes that have come, and takes room for them.
    pub(super) fn add(&self, piece: Vec<u8>, now_ms: u64) -> Result<()> {
        self.check()?;
        let (room, slot) = (&self.room, &self.slot);
        let length = slot.length.get() + piece.len();
        slot.is_long.set(slot.is_long.get() || length > SHORT_BYTES);
        let limit = if slot.is_long.get() { LONG_ROOM_BYTES } else { ROOM_BYTES };
        let lacking = (room.taken.get() + piece.len()).saturating_sub(limit);
        if lacking > 0 {
            room.make_room(slot, piece.len(), lacking, now_ms).map_err(Freed::fault)?;
        }
        room.taken.set(room.taken.get() + piece.len());
        slot.length.set(length);
        if length - slot.paced.get().1 >= PACE_BYTES {
            slot.paced.set((now_ms, length));
        }
        slot.pieces.borrow_mut().push(piece);
        Ok(())
    }

    /// `overloaded` where the body had to give way.
    pub(super) fn check(&self) -> Result<()> {
        self.slot.check()
    }

    /// [`Self::check`] for when the body itself is gone.
    pub(super) fn check_later(&self) -> impl Fn() -> Result<()> + use<> {
        let slot = Rc::clone(&self.slot);
        move || slot.check()
    }

    /// Keeps the body, of which all has come, until then, in milliseconds since the epoch: the object's time to take it.
    pub(super) fn keep_until(&self, now_ms: u64, until_ms: u64) {
        self.slot.until_ms.set(until_ms);
        self.slot.is_whole.set(true);
        self.slot.paced.set((now_ms, self.slot.length.get()));
        let mut pieces = self.slot.pieces.borrow_mut();
        if pieces.len() > 1 {
            *pieces = vec![pieces.concat()];
        }
    }

    /// Reads a whole body, unless it had to give way.
    pub(super) fn read<T>(&self, read: impl FnOnce(&[u8]) -> T) -> Result<T> {
        self.check()?;
        Ok(read(self.slot.pieces.borrow().first().map_or(&[][..], Vec::as_slice)))
    }
}

impl RequestBody for HeldBody {
    fn length(&self) -> usize {
        self.slot.length.get()
    }

    fn piece(&self, from: usize, most: usize) -> Option<Vec<u8>> {
        let piece = self.read(|bytes| {
            let rest = bytes.get(from..)?;
            Some(rest.get(..most).unwrap_or(rest).to_vec())
        });
        piece.ok()?
    }
}

impl Drop for HeldBody {
    fn drop(&mut self) {
        self.room.take_back(&self.slot);
        self.room.slots.borrow_mut().retain(|slot| !Rc::ptr_eq(slot, &self.slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ErrorCode;

    const MIB: usize = 1 << 20;

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

    fn owner(tenant: &str, user: &str) -> Owner {
        let user = Some(user.to_owned()).filter(|user| !user.is_empty());
        Owner { tenant: tenant.to_owned(), user }
    }

    /// A body that announces 8 MiB, and of which so many bytes have come.
    fn come(room: &Rc<BodyRoom>, of: &Owner, bytes: usize, now_ms: u64) -> HeldBody {
        let body = room.slot(of.clone(), Some(8 * MIB), now_ms, now_ms + 30_000);
        body.add(vec![0; bytes], now_ms).unwrap();
        body
    }

    fn code(body: &HeldBody) -> Option<Freed> {
        body.slot.freed.get()
    }

    #[test]
    fn a_clock_that_is_set_back_has_no_forgotten_body_kept_for_longer() {
        let (room, hour) = (Rc::new(BodyRoom::default()), 3_600_000);
        std::mem::forget(come(&room, &owner("a", ""), MIB, hour));
        let others = owner("b", "");
        drop(room.slot(others.clone(), None, 1_000, 31_000));
        assert_eq!(room.taken.get(), MIB, "its time is not over");
        drop(room.slot(others, None, 31_001, 61_001));
        assert_eq!(room.taken.get(), 0);
    }

    #[test]
    fn the_room_is_never_overfilled_and_all_of_it_is_given_back_on_every_way() {
        let owners: Vec<Owner> =
            ["a", "b", "c"].iter().flat_map(|t| ["", "u", "v"].map(|u| owner(t, u))).collect();
        let mut met = [0; 3];
        for seed in 1..200 {
            let mut numbers = Numbers(seed);
            let (room, mut now) = (Rc::new(BodyRoom::default()), 0);
            let mut held: Vec<HeldBody> = Vec::new();
            let mut forgotten = Vec::new();
            for _ in 0..300 {
                now += numbers.below(500) as u64;
                match numbers.below(6) {
                    0 | 1 => {
                        let announced = [None, Some(10), Some(8 * MIB)][numbers.below(3)];
                        let owner = owners[numbers.below(owners.len())].clone();
                        held.push(room.slot(owner, announced, now, now + 20_000));
                    }
                    // A client leaves, and the runtime drops its request without running destructors.
                    2 if !held.is_empty() => {
                        forgotten.push(held.swap_remove(numbers.below(held.len())))
                    }
                    3 if !held.is_empty() => drop(held.swap_remove(numbers.below(held.len()))),
                    _ if !held.is_empty() => {
                        let body = &held[numbers.below(held.len())];
                        let before = (room.taken.get(), body.slot.taken());
                        let had = code(body);
                        let most = [SHORT_BYTES, 12 * MIB][numbers.below(2)];
                        let bytes = numbers.below(most);
                        if body.add(vec![0; bytes], now).is_err() {
                            let after = (room.taken.get(), body.slot.taken());
                            assert_eq!(after, before, "a refusal takes nothing and frees nothing");
                            met[usize::from(had.is_some())] += 1;
                        } else if room.taken.get() < before.0 + bytes {
                            met[2] += 1;
                        }
                    }
                    _ => {}
                }
                assert!(room.taken.get() <= ROOM_BYTES);
                let all: usize = room.slots.borrow().iter().map(|slot| slot.taken()).sum();
                assert_eq!(room.taken.get(), all);
            }
            drop(held);
            drop(room.slot(Owner::default(), None, now + 20_001, now + 20_001));
            assert_eq!((room.taken.get(), room.slots.borrow().len()), (0, 0));
            let late =
                forgotten.iter().map(|body| (body.add(vec![0], now).is_err(), body.slot.taken()));
            assert!(
                late.into_iter().all(|late| late == (true, 0)),
                "a freed slot takes nothing more"
            );
        }
        assert!(met.iter().all(|times| *times > 20), "{met:?}");
    }

    #[test]
    fn what_is_announced_takes_no_room() {
        let room = Rc::new(BodyRoom::default());
        let idle: Vec<HeldBody> = (0..1_000)
            .map(|_| {
                let body = room.slot(owner("a", "u"), Some(8 * MIB), 0, 30_000);
                body.add(vec![0], 0).unwrap();
                body
            })
            .collect();
        assert_eq!(room.taken.get(), 1_000);
        let whole = come(&room, &owner("b", "v"), 8 * MIB, 29_999);
        assert!(idle.iter().all(|body| body.check().is_ok()), "nobody needed their room");
        drop(whole);
    }

    #[test]
    fn long_bodies_leave_room_for_short_ones() {
        let room = Rc::new(BodyRoom::default());
        let long: Vec<_> = ["a", "b", "c"].map(|t| come(&room, &owner(t, ""), 8 * MIB, 0)).into();
        let other = room.slot(owner("d", ""), None, 0, 1);
        other.add(vec![0; SHORT_BYTES], 0).unwrap();
        let refused = other.add(vec![0], 0).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Overloaded);
        let most = (ROOM_BYTES - LONG_ROOM_BYTES) / SHORT_BYTES - 1;
        let short: Vec<HeldBody> =
            (0..most).map(|_| room.slot(owner("e", ""), None, 0, 1)).collect();
        assert!(short.iter().all(|body| body.add(vec![0; SHORT_BYTES], 0).is_ok()));
        assert!(room.slot(owner("d", ""), None, 0, 1).add(vec![0], 0).is_err());
        drop(long);
        other.add(vec![0], 0).unwrap();
    }

    #[test]
    fn a_user_over_a_quarter_gives_way_the_newest_body_first_and_only_to_others() {
        let room = Rc::new(BodyRoom::default());
        let (guest, mate, other) = (owner("a", "guest"), owner("a", "mate"), owner("b", "v"));
        let held: Vec<_> = (0..3).map(|_| come(&room, &guest, 8 * MIB - 1, 0)).collect();
        // The guest's own fourth body is refused, and takes nothing from the others.
        let fourth = room.slot(guest.clone(), Some(8 * MIB), 0, 30_000);
        let refused = fourth.add(vec![0; MIB], 0).unwrap_err();
        assert!(refused.message.contains("more than a share"), "{}", refused.message);
        assert!(held.iter().all(|body| body.check().is_ok()));
        drop(fourth);
        let first = come(&room, &other, 80_000, 0);
        assert_eq!(held.iter().map(code).collect::<Vec<_>>(), [None, None, Some(Freed::Share)]);
        let second = come(&room, &mate, 8 * MIB, 0);
        assert_eq!(code(&held[1]), Some(Freed::Share), "of the same tenant, too");
        // What is left is a quarter at most, and stays.
        let third = come(&room, &owner("c", "w"), 7 * MIB, 0);
        let last = room.slot(other, Some(8 * MIB), 0, 30_000);
        assert!(last.add(vec![0; 2 * MIB], 0).unwrap_err().message.starts_with("Too many"));
        for body in [&held[0], &first, &second, &third] {
            assert_eq!(code(body), None);
        }
    }

    #[test]
    fn a_tenant_over_a_half_gives_way_to_another_tenant_whatever_users_it_has() {
        let room = Rc::new(BodyRoom::default());
        let held: Vec<_> =
            ["u", "v", "w"].map(|user| come(&room, &owner("a", user), 8 * MIB, 0)).into();
        let own = room.slot(owner("a", "x"), Some(8 * MIB), 0, 30_000);
        assert!(own.add(vec![0; 80_000], 0).is_err(), "the tenant's own users wait");
        assert!(held.iter().all(|body| body.check().is_ok()));
        let other = come(&room, &owner("b", ""), 8 * MIB, 0);
        assert_eq!(held.iter().map(code).collect::<Vec<_>>(), [None, None, Some(Freed::Share)]);
        // Half of the room is the tenant's for as long as it likes.
        let more = room.slot(owner("b", ""), Some(8 * MIB), 0, 30_000);
        assert!(more.add(vec![0; 80_000], 0).is_err());
        assert_eq!((code(&held[0]), code(&held[1]), code(&other)), (None, None, None));
    }

    #[test]
    fn an_only_body_is_as_long_as_permitted_and_gives_way_for_no_share() {
        let room = Rc::new(BodyRoom::default());
        let only = come(&room, &owner("a", "u"), 20 * MIB, 0);
        let other = room.slot(owner("b", "v"), Some(8 * MIB), 0, 30_000);
        other.add(vec![0; 4 * MIB], 0).unwrap();
        assert!(other.add(vec![0; 1], 0).unwrap_err().message.starts_with("Too many"));
        assert_eq!(code(&only), None);
        drop(other);
        only.add(vec![0; 4 * MIB], 0).unwrap();
        // A second body of the same user makes both of them a matter of shares.
        let second = room.slot(owner("a", "u"), Some(8 * MIB), 0, 30_000);
        assert!(second.add(vec![0; MIB], 0).unwrap_err().message.contains("share"));
    }

    #[test]
    fn a_body_that_has_given_way_makes_the_only_other_one_no_matter_of_shares() {
        let (room, user) = (Rc::new(BodyRoom::default()), owner("a", "u"));
        let left = come(&room, &user, 8 * MIB, 0);
        let first = come(&room, &owner("b", ""), 8 * MIB, 5_000);
        drop(come(&room, &owner("c", ""), 9 * MIB, 5_000));
        assert_eq!(code(&left), Some(Freed::Slow));
        let only = come(&room, &user, 12 * MIB, 5_000);
        let other = room.slot(owner("d", ""), Some(8 * MIB), 5_000, 30_000);
        let refused = other.add(vec![0; 5 * MIB], 5_000).unwrap_err();
        assert!(refused.message.starts_with("Too many"), "{}", refused.message);
        assert_eq!([&first, &only].map(code), [None; 2]);
    }

    #[test]
    fn a_body_that_hardly_comes_gives_way_after_5_s_and_only_when_its_room_is_needed() {
        let room = Rc::new(BodyRoom::default());
        let hold = |tenant: &str| come(&room, &owner(tenant, ""), 8 * MIB - 80_000, 0);
        let [steady, dribbling, stopped] = ["a", "b", "c"].map(hold);
        for second in 1..=5 {
            let now = second * 1_000;
            steady.add(vec![0; PACE_BYTES / 5 + 1], now).unwrap();
            dribbling.add(vec![0; PACE_BYTES / 5 - 1], now).unwrap();
        }
        let other = room.slot(owner("d", ""), Some(8 * MIB), 4_999, 30_000);
        assert!(other.add(vec![0; MIB], 4_999).is_err(), "nobody was slow for 5 s");
        assert_eq!([&steady, &dribbling, &stopped].map(code), [None; 3]);
        other.add(vec![0; MIB], 5_000).unwrap();
        assert_eq!([&steady, &dribbling, &stopped].map(code), [None, Some(Freed::Slow), None]);
        other.add(vec![0; 7 * MIB + 160_000], 5_000).unwrap();
        assert_eq!(code(&stopped), Some(Freed::Slow));
        assert_eq!(code(&steady), None);
        // One that has come whole has as long for its object to take it.
        steady.keep_until(16_000, 60_000);
        let last = room.slot(owner("e", ""), Some(8 * MIB), 20_000, 60_000);
        last.add(vec![0; 16 * MIB], 20_000).unwrap();
        assert_eq!(code(&other), Some(Freed::Slow));
        assert!(last.add(vec![0; MIB], 20_999).is_err());
        assert_eq!(code(&steady), None);
        last.add(vec![0; MIB], 21_000).unwrap();
        assert_eq!(code(&steady), Some(Freed::Full));
    }

    #[test]
    fn whole_bodies_whose_clients_have_left_keep_nobody_out_who_has_a_share() {
        let room = Rc::new(BodyRoom::default());
        let guest = owner("a", "guest");
        let abandoned: Vec<_> = (0..3)
            .map(|_| {
                let body = come(&room, &guest, 8 * MIB, 0);
                body.keep_until(0, 30_000);
                body
            })
            .collect();
        let check_later = abandoned[2].check_later();
        assert!(check_later().is_ok());
        let other = come(&room, &owner("b", ""), 8 * MIB, 0);
        assert_eq!(
            abandoned.iter().map(code).collect::<Vec<_>>(),
            [None, None, Some(Freed::Share)]
        );
        // Its object is not told that it has ended: it can no longer be read.
        let freed = &abandoned[2];
        assert_eq!((freed.length(), freed.piece(0, 1), freed.piece(MIB, 1)), (8 * MIB, None, None));
        assert!(freed.read(<[u8]>::len).is_err());
        drop(abandoned);
        assert_eq!(check_later().unwrap_err().code, ErrorCode::Overloaded);
        assert_eq!(room.taken.get(), 8 * MIB);
        let check_later = other.check_later();
        drop(other);
        assert!(check_later().is_ok(), "its object has taken it");
    }

    #[test]
    fn a_body_is_kept_as_it_came_and_read_piece_by_piece() {
        let room = Rc::new(BodyRoom::default());
        let body = room.slot(Owner::default(), None, 0, 1);
        assert_eq!(body.read(<[u8]>::len).unwrap(), 0);
        assert_eq!(body.piece(0, 2), Some(Vec::new()));
        body.add(b"abc".to_vec(), 0).unwrap();
        body.add(b"de".to_vec(), 0).unwrap();
        body.keep_until(0, 1);
        assert_eq!(body.read(<[u8]>::to_vec).unwrap(), b"abcde");
        let piece = |from| body.piece(from, 2);
        assert_eq!(piece(0).unwrap(), b"ab");
        assert_eq!(piece(4).unwrap(), b"e");
        assert_eq!((piece(5).unwrap(), piece(6)), (Vec::new(), None));
    }
}
