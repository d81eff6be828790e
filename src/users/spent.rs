//! The tokens of a user (`Budget` of an agent context; interface §13): what was spent today and this month, and the leases
//! out of which sessions spend. What is leased counts as spent, so all sessions together stay below the limit, but for one
//! model call of each that goes beyond its lease.

use serde::{Deserialize, Serialize};

use crate::contract::SessionId;
use crate::encoding::timestamp;
use crate::object::question;
use crate::persistence;

/// How long a session may spend out of a lease, in milliseconds. After that time what it did not give back returns.
pub const LEASE_LIFE_MS: u64 = 24 * 60 * 60 * 1000;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const MINUTE_MS: u64 = 60 * 1000;

question! {
    /// The limits of a user, in tokens, and the size of a lease.
    #[derive(Clone, Copy)]
    pub struct Limits {
        pub per_day: Option<u64>,
        pub per_month: Option<u64>,
        pub lease: u64,
    }

    /// A lease that a session spends no more out of.
    #[derive(Clone, Copy)]
    pub struct EndedLease {
        pub id: u64,
        /// The tokens that were spent; more than the lease had, where the last model call went beyond it.
        pub used: u64,
    }

    /// A session asks for a lease (`ObjectQuestion::Lease`).
    pub struct LeaseQuestion asks Lease => LeaseReply {
        pub session_id: SessionId,
        /// The session's lease before, where it had one.
        pub ended: Option<EndedLease>,
        pub limits: Limits,
    }
}

impl EndedLease {
    /// A lease that ends when the session has spent `total` tokens.
    pub fn of(lease: &persistence::Lease, total: u64) -> Self {
        Self { id: lease.id, used: lease.used(total) }
    }
}

/// The reply to a [`LeaseQuestion`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "State", rename_all = "snake_case", rename_all_fields = "PascalCase")]
pub enum LeaseReply {
    Granted {
        id: u64,
        tokens: u64,
        /// When it was granted first, in milliseconds since the Unix epoch.
        granted_at: u64,
    },
    Exhausted {
        /// The member of `Budget`.
        budget: String,
        /// When the user may spend again, in milliseconds since the Unix epoch.
        resets_at: u64,
    },
}

/// What a user has spent: the JSON of `user.spent`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Spent {
    /// `2026-01-31`, UTC.
    day: String,
    day_tokens: u64,
    /// `2026-01`, UTC.
    month: String,
    month_tokens: u64,
    /// The id of the newest lease.
    newest: u64,
    leases: Vec<Lease>,
    /// The bytes that forks have copied, by the minute, the earliest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    copies: Vec<Copied>,
}

/// The bytes that forks have copied in a minute, which is counted from the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Copied {
    minute: u64,
    bytes: u64,
}

impl Copied {
    /// When it is over an hour old, in milliseconds since the Unix epoch.
    fn ends_at(self) -> u64 {
        self.minute.saturating_add(61).saturating_mul(MINUTE_MS)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Lease {
    id: u64,
    session_id: SessionId,
    tokens: u64,
    granted_at: u64,
}

impl Spent {
    /// The tokens of today and of this month, those of leases among them.
    pub fn tokens(&self, now_ms: u64) -> (u64, u64) {
        let now = self.at(now_ms);
        (now.day_tokens, now.month_tokens)
    }

    /// The number of leases that sessions have, and the tokens of them.
    pub fn leased(&self, now_ms: u64) -> (usize, u64) {
        let now = self.at(now_ms);
        (now.leases.len(), now.leases.iter().map(|lease| lease.tokens).sum())
    }

    /// The same without what is over by then: it is stored until the next change.
    fn at(&self, now_ms: u64) -> Self {
        let mut now = self.clone();
        now.begin_period(now_ms);
        now
    }

    /// When nothing of it counts any more, in milliseconds since the Unix epoch.
    pub fn counts_until(&self, now_ms: u64) -> u64 {
        let of_tokens = if self.month == month_of(now_ms) { next_month(now_ms) } else { 0 };
        self.copies.last().map_or(0, |copied| copied.ends_at()).max(of_tokens)
    }

    /// Whether a budget has bounded the user's tokens.
    pub fn has_tokens(&self) -> bool {
        !self.month.is_empty()
    }

    /// Counts the bytes of a fork, of which there may be `most` in an hour. Where they are too many nothing is counted, and
    /// the error is the time until they are not, in milliseconds.
    pub fn copy(&mut self, bytes: u64, most: u64, now_ms: u64) -> Result<(), u64> {
        let minute = now_ms / MINUTE_MS;
        // What is of a later minute than that of a clock which differs was counted before the clock was set back, and would
        // count until it has caught up.
        self.copies.retain(|copied| copied.ends_at() > now_ms && copied.minute <= minute + 1);
        let all = self.copies.iter().fold(bytes, |all, copied| all.saturating_add(copied.bytes));
        if all > most {
            let mut left = all;
            let ends = self.copies.iter().find(|copied| {
                left = left.saturating_sub(copied.bytes);
                left <= most
            });
            let ends_at = ends.copied().unwrap_or(Copied { minute, bytes }).ends_at();
            return Err(ends_at.saturating_sub(now_ms));
        }
        match self.copies.last_mut() {
            Some(newest) if newest.minute == minute => newest.bytes += bytes,
            _ => self.copies.push(Copied { minute, bytes }),
        }
        Ok(())
    }

    /// Takes a lease back, and gives another one. A session that does not know of its lease gets the same again.
    pub fn lease(&mut self, asked: &LeaseQuestion, now_ms: u64) -> LeaseReply {
        self.begin_period(now_ms);
        if let Some(ended) = asked.ended {
            self.take_back(ended, now_ms);
        }
        let is_own = |lease: &&Lease| lease.session_id == asked.session_id;
        if let Some(&Lease { id, tokens, granted_at, .. }) = self.leases.iter().find(is_own) {
            return LeaseReply::Granted { id, tokens, granted_at };
        }
        let left = |limit: Option<u64>, spent: u64| limit.map(|limit| limit.saturating_sub(spent));
        let of_day = left(asked.limits.per_day, self.day_tokens);
        let of_month = left(asked.limits.per_month, self.month_tokens);
        let exhausted = |budget: &str, resets_at| LeaseReply::Exhausted {
            budget: budget.to_owned(),
            resets_at,
        };
        if of_month == Some(0) {
            return exhausted("UserTokensPerMonth", next_month(now_ms));
        }
        if of_day == Some(0) {
            return exhausted("UserTokensPerDay", next_day(now_ms));
        }
        let tokens = of_day.into_iter().chain(of_month).chain([asked.limits.lease]).min();
        let tokens = tokens.unwrap_or_default();
        self.newest += 1;
        self.count(tokens);
        self.leases.push(Lease {
            id: self.newest,
            session_id: asked.session_id.clone(),
            tokens,
            granted_at: now_ms,
        });
        LeaseReply::Granted { id: self.newest, tokens, granted_at: now_ms }
    }

    /// Takes a lease back: what was not spent may be spent by others. Nothing happens to one that was taken back before.
    pub fn take_back(&mut self, ended: EndedLease, now_ms: u64) {
        self.begin_period(now_ms);
        let Some(at) = self.leases.iter().position(|lease| lease.id == ended.id) else { return };
        let lease = self.leases.remove(at);
        self.settle(&lease, ended.used, now_ms);
    }

    /// Corrects the tokens of a lease to those that were spent, where its period is not over.
    fn settle(&mut self, lease: &Lease, used: u64, now_ms: u64) {
        let corrected = |spent: u64| spent.saturating_sub(lease.tokens).saturating_add(used);
        if is_same_day(lease.granted_at, now_ms) {
            self.day_tokens = corrected(self.day_tokens);
        }
        if month_of(lease.granted_at) == month_of(now_ms) {
            self.month_tokens = corrected(self.month_tokens);
        }
    }

    fn count(&mut self, tokens: u64) {
        self.day_tokens = self.day_tokens.saturating_add(tokens);
        self.month_tokens = self.month_tokens.saturating_add(tokens);
    }

    /// Begins to count anew in a new day and a new month, and takes back leases that are over.
    fn begin_period(&mut self, now_ms: u64) {
        let (day, month) = (day_of(now_ms), month_of(now_ms));
        if self.day != day {
            (self.day, self.day_tokens) = (day, 0);
        }
        if self.month != month {
            (self.month, self.month_tokens) = (month, 0);
        }
        let is_over = |lease: &Lease| lease.granted_at.saturating_add(LEASE_LIFE_MS) <= now_ms;
        let over: Vec<Lease> = self.leases.iter().filter(|lease| is_over(lease)).cloned().collect();
        self.leases.retain(|lease| !is_over(lease));
        for lease in over {
            self.settle(&lease, 0, now_ms);
        }
    }
}

/// Whether two times, in milliseconds since the epoch, are of one day by UTC.
pub fn is_same_day(one_ms: u64, other_ms: u64) -> bool {
    one_ms / DAY_MS == other_ms / DAY_MS
}

fn day_of(ms: u64) -> String {
    timestamp(ms).chars().take("2026-01-31".len()).collect()
}

fn month_of(ms: u64) -> String {
    timestamp(ms).chars().take("2026-01".len()).collect()
}

fn next_day(now_ms: u64) -> u64 {
    (now_ms / DAY_MS).saturating_add(1).saturating_mul(DAY_MS)
}

fn next_month(now_ms: u64) -> u64 {
    let mut day = next_day(now_ms);
    // No month has more days.
    for _ in 0..31 {
        if month_of(day) != month_of(now_ms) {
            break;
        }
        day = day.saturating_add(DAY_MS);
    }
    day
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-01-30T12:00:00Z
    const NOON: u64 = 1_769_774_400_000;

    fn asked(session: &str, ended: Option<EndedLease>, per_day: u64, lease: u64) -> LeaseQuestion {
        LeaseQuestion {
            session_id: SessionId::parse(session).unwrap(),
            ended,
            limits: Limits { per_day: Some(per_day), per_month: None, lease },
        }
    }

    fn granted(reply: LeaseReply) -> Option<(u64, u64)> {
        match reply {
            LeaseReply::Granted { id, tokens, .. } => Some((id, tokens)),
            LeaseReply::Exhausted { .. } => None,
        }
    }

    #[test]
    fn what_is_leased_counts_as_spent_until_it_comes_back() {
        let mut spent = Spent::default();
        assert_eq!(granted(spent.lease(&asked("a", None, 100, 60), NOON)), Some((1, 60)));
        assert_eq!(granted(spent.lease(&asked("b", None, 100, 60), NOON)), Some((2, 40)));
        assert_eq!(
            spent.lease(&asked("c", None, 100, 60), NOON),
            LeaseReply::Exhausted {
                budget: "UserTokensPerDay".to_owned(),
                resets_at: NOON + DAY_MS / 2
            }
        );
        spent.take_back(EndedLease { id: 1, used: 10 }, NOON);
        spent.take_back(EndedLease { id: 1, used: 0 }, NOON);
        assert_eq!(spent.tokens(NOON), (50, 50));
        assert_eq!(granted(spent.lease(&asked("c", None, 100, 60), NOON)), Some((3, 50)));
        // The last call of a lease may go beyond it.
        let beyond = EndedLease { id: 3, used: 70 };
        assert_eq!(granted(spent.lease(&asked("c", Some(beyond), 100, 60), NOON)), None);
        assert_eq!(spent.tokens(NOON), (120, 120));
    }

    #[test]
    fn a_session_that_lost_its_lease_gets_the_same_again() {
        let mut spent = Spent::default();
        let first = spent.lease(&asked("a", None, 100, 60), NOON);
        assert_eq!(spent.lease(&asked("a", None, 100, 60), NOON + 1), first);
        assert_eq!(spent.leased(NOON), (1, 60));
    }

    #[test]
    fn days_and_months_begin_anew_and_leases_come_back_after_a_day() {
        let mut spent = Spent::default();
        let month = |ended| LeaseQuestion {
            limits: Limits { per_day: None, per_month: Some(100), lease: 100 },
            ..asked("a", ended, 0, 0)
        };
        assert_eq!(granted(spent.lease(&month(None), NOON)), Some((1, 100)));
        let ended = Some(EndedLease { id: 1, used: 100 });
        // 2026-02-01T00:00:00Z
        let february = NOON + DAY_MS + DAY_MS / 2;
        assert_eq!(
            spent.lease(&month(ended), NOON),
            LeaseReply::Exhausted { budget: "UserTokensPerMonth".to_owned(), resets_at: february }
        );
        assert_eq!(spent.counts_until(NOON), february);
        assert_eq!(spent.tokens(NOON + DAY_MS), (0, 100));
        assert_eq!(granted(spent.lease(&month(ended), february)), Some((2, 100)));
        assert_eq!(spent.tokens(february), (100, 100));
        assert_eq!(spent.tokens(february + DAY_MS), (0, 0), "nobody gave it back");
        assert_eq!(spent.leased(february + DAY_MS), (0, 0));
    }

    #[test]
    fn a_clock_that_is_set_back_has_no_copy_count_for_longer() {
        let mut spent = Spent::default();
        assert_eq!(spent.copy(100, 100, NOON), Ok(()));
        // The clocks of two machines differ.
        assert_eq!(spent.copy(1, 100, NOON - 1), Err(61 * MINUTE_MS + 1));
        assert_eq!(spent.copy(100, 100, NOON - 2 * MINUTE_MS), Ok(()));
    }

    #[test]
    fn forks_copy_no_more_in_any_hour_than_they_may() {
        let mut spent = Spent::default();
        assert_eq!(spent.copy(60, 100, NOON), Ok(()));
        assert_eq!(spent.copy(40, 100, NOON + 30 * MINUTE_MS + 1), Ok(()));
        assert_eq!(spent.copy(0, 100, NOON + 30 * MINUTE_MS + 2), Ok(()));
        let before = spent.clone();
        let late = NOON + 59 * MINUTE_MS;
        // The first copy is over an hour old two minutes later, the second one half an hour after it.
        assert_eq!(spent.copy(1, 100, late), Err(2 * MINUTE_MS));
        assert_eq!(spent.copy(60, 100, late), Err(2 * MINUTE_MS));
        assert_eq!(spent.copy(61, 100, late), Err(32 * MINUTE_MS));
        assert_eq!(spent.copy(101, 100, late), Err(61 * MINUTE_MS), "it never may");
        assert_eq!(spent, before, "what is refused counts nothing");
        assert_eq!(spent.counts_until(late), NOON + 91 * MINUTE_MS);
        assert_eq!(spent.copy(60, 100, late + 2 * MINUTE_MS), Ok(()));
        assert!(!spent.has_tokens());
        let mut random = 7_u64;
        let mut copied: Vec<(u64, u64)> = Vec::new();
        for minute in 0..500 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (now, bytes) =
                (late + minute * MINUTE_MS + (random >> 40) % MINUTE_MS, (random >> 33) % 30);
            if spent.copy(bytes, 100, now).is_ok() {
                copied.push((now, bytes));
            }
            let hour = copied.iter().filter(|(at, _)| at + 60 * MINUTE_MS > now);
            assert!(hour.map(|(_, bytes)| bytes).sum::<u64>() <= 100);
        }
        assert!(spent.copies.len() <= 61);
    }

    proptest! {
        #[test]
        fn sessions_never_spend_more_than_the_limit_and_one_call_each(
            calls in prop::collection::vec((0..5_u8, 1..90_u64), 1..200)
        ) {
            const LIMIT: u64 = 1_000;
            let mut spent = Spent::default();
            let mut leases: [Option<(u64, u64, u64)>; 5] = [None; 5];
            let mut all = 0;
            for (session, tokens) in calls {
                let own = &mut leases[usize::from(session)];
                if own.is_none_or(|(_, left, _)| left == 0) {
                    let ended = own.map(|(id, _, used)| EndedLease { id, used });
                    let reply = spent.lease(&asked(&format!("s{session}"), ended, LIMIT, 100), NOON);
                    *own = granted(reply).map(|(id, tokens)| (id, tokens, 0));
                }
                if let Some((_, left, used)) = own {
                    *left = left.saturating_sub(tokens);
                    *used += tokens;
                    all += tokens;
                }
            }
            prop_assert!(all <= LIMIT + 5 * 90, "{all}");
        }
    }
}
