//! The model services of a turn (interface §4, Fall-backs): that of the session's agent context, and its fall-backs in
//! their order. It decides which of them a call begins with, and which one takes over from one that failed; when a
//! service has failed so, the reasoner decides.
//!
//! A service that failed rests: for some time no call of this isolate begins with it, unless all others of its turn
//! rest as well. That is memory of the isolate alone. Nothing is stored of it, and no isolate asks another.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::catalog::AgentContext;
use crate::contract::Fault;

/// The longest rest that a service can ask for, in milliseconds.
const LONGEST_REST_MS: u64 = 600_000;

/// The shortest time between two lines of the log about one agent context, in milliseconds.
const SILENCE_MS: u64 = 60_000;

/// The services that rest, by their agent contexts. All objects of an isolate share one.
#[derive(Debug, Default)]
pub(crate) struct RestingServices {
    /// From when to when: a clock that was set back has no service rest longer.
    times: RefCell<BTreeMap<String, Range<u64>>>,
    /// When the log was last told of each.
    logged: RefCell<BTreeMap<String, u64>>,
}

impl RestingServices {
    /// Has a service rest: as long as the deployment says, or for its own `Retry-After` where that is longer.
    pub(crate) fn rest(&self, id: &str, rest_ms: u64, asked_ms: Option<u64>, now_ms: u64) {
        let asked_ms = asked_ms.unwrap_or(0).min(LONGEST_REST_MS);
        let until = now_ms.saturating_add(rest_ms.max(asked_ms));
        let mut resting = self.times.borrow_mut();
        let known = resting.get(id).filter(|times| times.contains(&now_ms));
        let until = known.map_or(until, |known| until.max(known.end));
        resting.insert(id.to_owned(), now_ms..until);
    }

    fn rests(&self, id: &str, now_ms: u64) -> bool {
        self.times.borrow().get(id).is_some_and(|times| times.contains(&now_ms))
    }

    /// Whether the log is to be told of an agent context now; if so, not again for a minute.
    pub(crate) fn is_news(&self, id: &str, now_ms: u64) -> bool {
        let mut logged = self.logged.borrow_mut();
        let is_silent = |at: &u64| (*at..at.saturating_add(SILENCE_MS)).contains(&now_ms);
        let is_news = !logged.get(id).is_some_and(is_silent);
        if is_news {
            logged.insert(id.to_owned(), now_ms);
        }
        is_news
    }
}

/// What services have failed with that a call was tried at, and that another one took over from.
pub(crate) struct FailedServices {
    /// The failure of the first.
    first: Fault,
    /// The attempts at all of them.
    attempts: u32,
    count: u32,
    /// The shortest wait that one of them asks for.
    retry_after_ms: Option<u64>,
}

impl FailedServices {
    /// Adds the failure of a service, after so many attempts at it.
    pub(crate) fn add(failed: &mut Option<Self>, fault: Fault, attempts: u32) {
        let asked = retry_after_ms(&fault);
        let known = failed.get_or_insert(Self {
            first: fault,
            attempts: 0,
            count: 0,
            retry_after_ms: None,
        });
        known.attempts = known.attempts.saturating_add(attempts);
        known.count += 1;
        known.retry_after_ms = known.retry_after_ms.into_iter().chain(asked).min();
    }

    /// What a client is told of a call that has failed at the last service, too: by what that one failed, or, where
    /// another one could have taken over from it as well, by what the first failed.
    pub(crate) fn told(&self, last: Fault, attempts: u32, moves_on: bool) -> Fault {
        let asked = retry_after_ms(&last);
        let told = match moves_on {
            true => {
                let asked = self.retry_after_ms.into_iter().chain(asked).min();
                let first = self.first.clone();
                asked.into_iter().fold(first, |fault, ms| fault.with("RetryAfterMs", ms))
            }
            false => last,
        };
        told.with("Attempts", self.attempts.saturating_add(attempts)).with("Fallbacks", self.count)
    }
}

fn retry_after_ms(fault: &Fault) -> Option<u64> {
    fault.details.as_ref()?.get("RetryAfterMs")?.as_u64()
}

/// A model service, by its agent context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service<'a> {
    pub(crate) id: &'a str,
    pub(crate) agent: &'a AgentContext,
}

/// The services of a running turn.
pub(crate) struct Services<'a> {
    own: Service<'a>,
    /// At the places from 1 on.
    fallbacks: Vec<Service<'a>>,
    /// The place of the one that calls go to.
    present: usize,
    /// The place from which on services are the turn's: that of the one that it stays with.
    first: usize,
    /// The places of those that the present call was tried at, in their order.
    tried: Vec<usize>,
}

impl<'a> Services<'a> {
    /// The services of a session's agent context, `own`. A turn stays with the one that its row names.
    pub(crate) fn of(
        own: Service<'a>,
        fallbacks: impl IntoIterator<Item = Service<'a>>,
        kept: Option<&str>,
    ) -> Self {
        let fallbacks: Vec<Service<'a>> = fallbacks.into_iter().collect();
        let mut services = Self { own, fallbacks, present: 0, first: 0, tried: Vec::new() };
        services.first = kept.and_then(|id| services.place_of(id)).unwrap_or(0);
        services.present = services.first;
        services.tried.push(services.first);
        services
    }

    /// The service that calls go to.
    pub(crate) fn present(&self) -> Service<'a> {
        self.at(self.present)
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = Service<'a>> + '_ {
        [self.own].into_iter().chain(self.fallbacks.iter().copied())
    }

    fn at(&self, place: usize) -> Service<'a> {
        let fallback = place.checked_sub(1).and_then(|place| self.fallbacks.get(place));
        fallback.copied().unwrap_or(self.own)
    }

    fn place_of(&self, id: &str) -> Option<usize> {
        self.all().position(|service| service.id == id)
    }

    /// Whether others can take over from the first.
    pub(crate) fn has_fallbacks(&self) -> bool {
        !self.fallbacks.is_empty()
    }

    /// The agent context of the service that calls go to, where that is not the session's own.
    pub(crate) fn fallback(&self) -> Option<&'a str> {
        (self.present > 0).then(|| self.present().id)
    }

    /// The agent context of the service that the present one replaces: the one that failed before it, or the first,
    /// which rests.
    pub(crate) fn fallback_from(&self) -> Option<&'a str> {
        let before = self.tried.iter().rev().find(|place| **place != self.present);
        let before = before.or((self.present > 0).then_some(&0));
        before.map(|place| self.at(*place).id)
    }

    /// Chooses the service that a call begins with: the first that does not rest, or the first when all do.
    pub(crate) fn begin_call(&mut self, resting: &RestingServices, now_ms: u64) {
        self.tried.clear();
        self.present = self.choose(resting, now_ms).unwrap_or(self.first);
        self.tried.push(self.present);
    }

    /// Has calls go to the service of an agent context; false where it is not among them.
    pub(crate) fn go_to(&mut self, id: Option<&str>) -> bool {
        let place = id.map_or(Some(0), |id| self.place_of(id));
        if let Some(place) = place {
            (self.present, self.tried) = (place, vec![place]);
        }
        place.is_some()
    }

    /// Whether the present call can be tried at another service.
    pub(crate) fn is_another_left(&self) -> bool {
        self.left().next().is_some()
    }

    /// Has another service take the present call over; false where none is left.
    pub(crate) fn move_on(&mut self, resting: &RestingServices, now_ms: u64) -> bool {
        let Some(next) = self.choose(resting, now_ms) else { return false };
        self.present = next;
        self.tried.push(next);
        true
    }

    /// Has the turn stay with the present service.
    pub(crate) fn stay(&mut self) {
        self.first = self.present;
    }

    /// The services at which the present call was not tried.
    fn left(&self) -> impl Iterator<Item = usize> + '_ {
        (self.first..=self.fallbacks.len()).filter(|place| !self.tried.contains(place))
    }

    /// The first service left that does not rest, or the first one left.
    fn choose(&self, resting: &RestingServices, now_ms: u64) -> Option<usize> {
        let is_awake = |place: &usize| !resting.rests(self.at(*place).id, now_ms);
        self.left().find(is_awake).or_else(|| self.left().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_has_no_service_rest_and_no_line_left_out_for_longer() {
        let (resting, hour) = (RestingServices::default(), 3_600_000);
        resting.rest("a", 30_000, None, hour);
        assert!(resting.rests("a", hour + 29_999) && !resting.rests("a", hour + 30_000));
        assert!(!resting.rests("a", 1_000));
        resting.rest("a", 30_000, None, 1_000);
        resting.rest("a", 10_000, None, 2_000);
        assert!(resting.rests("a", 30_999) && !resting.rests("a", 31_000));
        assert!(resting.is_news("a", hour) && !resting.is_news("a", hour + 59_999));
        assert!(resting.is_news("a", 1_000));
    }
}
