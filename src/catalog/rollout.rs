//! `Rollout` of a conversation context: the shares of new sessions that begin under others (interface §6).
//!
//! Who gets which one is computed from names alone, so nothing is stored for it, a repeated request comes to the same
//! context, and a share that grows keeps whoever had it, where those before it stay as they are.

use std::collections::BTreeMap;

use super::findings::Findings;
use super::values::{choice, hundredths, undeclared_problem};
use crate::encoding::sha256_hex;
use crate::json::{Node, declared_object};

/// What all shares are out of.
const WHOLE: u32 = 10_000;
const MOST_CONTEXTS: usize = 3;

/// What comes to the same context each time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RolloutBy {
    /// A user; of a session without one, the session.
    #[default]
    User,
    Session,
}

/// Whose session begins.
#[derive(Debug, Clone, Copy)]
pub struct Newcomer<'a> {
    pub tenant: &'a str,
    pub user: Option<&'a str>,
    pub session_id: &'a str,
}

impl Rollout {
    /// The context under which a session begins that asks for `asked`; `None` where it is that one.
    pub fn leads(&self, asked: &str, newcomer: &Newcomer<'_>) -> Option<&str> {
        let Newcomer { tenant, user, session_id } = newcomer;
        let user = user.filter(|_| self.by == RolloutBy::User).map(|user| format!("~{user}"));
        let who = user.as_deref().unwrap_or(session_id);
        let hash = sha256_hex(format!("rollout\n{tenant}\n{asked}\n{who}").as_bytes());
        let place = u32::from_str_radix(hash.get(..8)?, 16).ok()? % WHOLE;
        let mut end = 0;
        let is_within = |(_, share): &(&String, &u32)| {
            end += **share;
            place < end
        };
        self.to.iter().find(is_within).map(|(context, _)| context.as_str())
    }
}

declared_object! {
    /// Shares of the new sessions that ask for this context begin under others.
    #[derive(Eq)]
    pub struct Rollout by Findings {
        /// Ids of other ConversationContexts, each with its share in per cent, up to two decimals; 100 at most
        /// together.
        "To" required => to: BTreeMap<String, u32> = shares(),
        /// User: all sessions of a user begin under the same one; a session without a user counts by itself. Session:
        /// each counts by itself.
        "By" => by: RolloutBy = choice([("User", RolloutBy::User), ("Session", RolloutBy::Session)]),
    }
}

/// Reads the `Rollout` of a context, beside which no `Instead` may stand.
pub(super) fn rollout(node: Node<'_, '_>, findings: &mut Findings) -> Option<Rollout> {
    let replaced = &findings.declared().replaced_contexts;
    if node
        .place
        .name_above(1)
        .is_some_and(|context| replaced.iter().any(|replaced| replaced == context))
    {
        findings.fault(node, "cannot stand beside \"Instead\"; remove one of them");
        return None;
    }
    Some(Rollout::read(node, findings))
}

/// `To`, whose object is the `Rollout` of a context.
fn shares(node: Node<'_, '_>, findings: &mut Findings) -> BTreeMap<String, u32> {
    let declared = findings.declared();
    let own = node.place.name_above(2);
    let mut shares = BTreeMap::new();
    let count = node.entries(findings, |context, node, findings| {
        if own == Some(context) {
            findings
                .fault(node, "is the context itself, which has what the others leave; remove it");
        } else if let Some(problem) =
            undeclared_problem("conversation context", context, &declared.conversation_contexts)
        {
            findings.fault(node, problem);
        }
        shares.insert(context.to_owned(), hundredths(node, findings));
    });
    if count.is_some_and(|count| count == 0 || count > MOST_CONTEXTS) {
        findings.fault(node, format!("must name 1 to {MOST_CONTEXTS} contexts"));
    }
    if shares.values().sum::<u32>() > WHOLE {
        findings.fault(node, "has shares of more than 100 per cent together; lower one of them");
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(shares: &[(&str, u32)], by: RolloutBy) -> Rollout {
        let to = shares.iter().map(|(context, share)| ((*context).to_owned(), *share));
        Rollout { to: to.collect(), by }
    }

    fn session(id: &str) -> Newcomer<'_> {
        Newcomer { tenant: "acme", user: None, session_id: id }
    }

    #[test]
    fn the_hash_is_that_of_the_promise() {
        // printf 'rollout\nacme\nsupport\n~alice b' | sha256sum, its first 8 digits modulo 10,000.
        let digits = sha256_hex("rollout\nacme\nsupport\n~alice b".as_bytes());
        let place = u32::from_str_radix(digits.get(..8).unwrap(), 16).unwrap() % 10_000;
        let alice = Newcomer { user: Some("alice b"), ..session("s") };
        for (share, led) in [(place, None), (place + 1, Some("b"))] {
            assert_eq!(to(&[("b", share)], RolloutBy::User).leads("support", &alice), led);
        }
    }

    #[test]
    fn who_is_asked_about_is_the_user_or_the_session() {
        let shares = [("b", 5_000)];
        let (by_user, by_session) = (to(&shares, RolloutBy::User), to(&shares, RolloutBy::Session));
        let ids: Vec<String> = (0..200).map(|number| format!("s{number}")).collect();
        let led = |rollout: &Rollout, user: Option<&str>| {
            let of = |id: &String| rollout.leads("a", &Newcomer { user, ..session(id) }).is_some();
            ids.iter().filter(|id| of(id)).count()
        };
        // Of one user all sessions, or none.
        assert!([0, 200].contains(&led(&by_user, Some("alice"))));
        assert!((60..140).contains(&led(&by_session, Some("alice"))));
        assert_eq!(led(&by_user, None), led(&by_session, Some("alice")));
    }

    #[test]
    fn of_100_000_sessions_each_context_gets_its_share_and_a_share_that_grows_loses_nobody() {
        let ids: Vec<String> = (0..100_000).map(|number| format!("session-{number}")).collect();
        let led = |rollout: &Rollout, id: &str| rollout.leads("a", &session(id)).map(str::to_owned);
        let three = to(&[("d", 3_333), ("b", 1_000), ("c", 25)], RolloutBy::Session);
        for (context, share) in
            [(Some("b"), 10.0), (Some("c"), 0.25), (Some("d"), 33.33), (None, 56.42)]
        {
            let count = ids.iter().filter(|id| led(&three, id).as_deref() == context).count();
            let percent = count as f64 / 1_000.0;
            assert!((percent - share).abs() < 0.5, "{context:?}: {percent}");
        }
        let [ten, twenty] = [1_000, 2_000].map(|share| to(&[("b", share)], RolloutBy::Session));
        let joined = ids.iter().filter(|id| {
            let (before, after) = (led(&ten, id), led(&twenty, id));
            assert!(before.is_none() || before == after, "{id} had it and has it no more");
            before.is_none() && after.is_some()
        });
        assert!((9_500..10_500).contains(&joined.count()));
        // One that grows before another takes from that.
        let both = |share| to(&[("b", share), ("c", share)], RolloutBy::Session);
        let [before, after] = [1_000, 2_000].map(both);
        let mut of_c = ids.iter().filter(|id| led(&before, id).as_deref() == Some("c"));
        assert!(of_c.all(|id| led(&after, id).as_deref() == Some("b")));
        for (share, all) in [(0, false), (10_000, true)] {
            let rollout = to(&[("b", share)], RolloutBy::Session);
            assert!(ids.iter().take(5_000).all(|id| led(&rollout, id).is_some() == all));
        }
        // Another tenant, or another context, draws anew.
        let moved = ids.iter().filter(|id| {
            let other = Newcomer { tenant: "beta", ..session(id) };
            ten.leads("a", &other).is_some() && ten.leads("a", &session(id)).is_none()
        });
        assert!(moved.count() > 8_000);
    }
}
