//! The rows that a user's sessions cost, in their own storage and in that of the user's object.

use std::rc::Rc;

use bed::*;

use super::people::{Asking, people};

/// Rows written and rows returned during `what`.
fn cost(disk: &Rc<Disk>, what: impl FnOnce()) -> (u64, u64) {
    let before = (disk.rows_written.get(), disk.rows_returned.get());
    what();
    (disk.rows_written.get() - before.0, disk.rows_returned.get() - before.1)
}

#[test]
fn a_follow_up_turn_with_a_user_costs_the_rows_of_one_without() {
    let bed = people();
    let own = Rc::clone(&bed.disk);
    let of_user = Rc::clone(&bed.world.session("local/~alice/s").disk);
    let index = Rc::clone(&bed.world.user("local/~alice").disk);
    let say = |id: &str| {
        let script = || bed.world.model.script([say("Yes.").into()]);
        script();
        let without = cost(&own, || _ = bed.post(&turn(id, "Hello")).final_text());
        script();
        let indexed = (index.rows_written.get(), index.rows_returned.get());
        let with = cost(&of_user, || _ = bed.say("alice", "s", id, "Hello").final_text());
        let indexed = (index.rows_written.get() - indexed.0, index.rows_returned.get() - indexed.1);
        (without, with, indexed)
    };
    let (without, with, _) = say("t1");
    assert_eq!(with.0, without.0, "the first turn");
    for id in ["t2", "t3", "t4"] {
        let (without, with, indexed) = say(id);
        assert_eq!(without.0, 5);
        assert_eq!((with, indexed), (without, (0, 0)), "{id}");
    }
    // The report of these turns changes one row of the index and its entry by time.
    let reported = cost(&index, || bed.ring_for(1));
    assert!(reported.0 <= 2 && reported.1 <= 4, "{reported:?}");
    let (without, with, _) = say("t5");
    assert_eq!(with, without, "after the report, which told nothing new");
    // What was told is not told again.
    bed.ring_for(1);
    bed.world.session("local/~alice/s").restart(&bed.world);
    let session = bed.world.session("local/~alice/s");
    session.alarm_at.set(Some(bed.world.executor.now_ms()));
    assert_eq!(cost(&index, || bed.ring_for(1)).0, 0);
}

#[test]
fn a_user_s_first_sessions_write_two_rows_each_to_the_index() {
    let bed = people();
    let index = Rc::clone(&bed.world.user("local/~alice").disk);
    bed.say("alice", "a", "t1", "Hello").final_text();
    let second = cost(&index, || _ = bed.say("alice", "b", "t1", "Hello").final_text());
    assert_eq!(second.0, 2);
}

#[test]
fn a_page_reads_its_own_sessions_only() {
    let bed = people();
    for number in 0..60 {
        bed.say("alice", &format!("s{number}"), "t1", "Hello").final_text();
    }
    bed.ring_for(1);
    let index = Rc::clone(&bed.world.user("local/~alice").disk);
    index.watch();
    let read = cost(&index, || assert_eq!(bed.list("alice", "?Limit=20").len(), 20));
    assert!(read.0 == 0 && read.1 <= 24, "{read:?}");
    for (statement, seen) in index.statements() {
        let scans = index.plan(&statement).iter().any(|step| step.contains("TEMP B-TREE"));
        assert!(!scans && seen.most_scanned <= 21, "{statement}: {seen:?}");
    }
    // A user without a new session wakes none of them.
    let sessions = bed.world.sessions.borrow().values().cloned().collect::<Vec<_>>();
    let before: u64 = sessions.iter().map(|session| session.disk.rows_returned.get()).sum();
    bed.list("alice", "");
    let after: u64 = sessions.iter().map(|session| session.disk.rows_returned.get()).sum();
    assert_eq!(after, before);
}
