//! The table of tasks: what is owed stays owed until it is done or given up, and nothing else is touched.

use std::rc::Rc;

use aptix_edge::object::{Attempted, Next, TaskKind, TaskState, Tasks};
use bed::{Disk, SqliteDatabase};

fn tasks(disk: &Rc<Disk>) -> Tasks<SqliteDatabase> {
    Tasks::new(Rc::new(disk.database()))
}

fn ids(tasks: &Tasks<SqliteDatabase>, kind: TaskKind, now_ms: u64) -> Vec<String> {
    let mut ids = Vec::new();
    while let Some(task) = tasks.due(kind, now_ms).unwrap() {
        tasks.settle(&task, Next::Done.into()).unwrap();
        ids.push(task.id);
    }
    ids
}

#[test]
fn an_object_that_owes_nothing_has_no_table_and_reads_none() {
    let disk = Disk::new();
    let tasks = tasks(&disk);
    tasks.note_table(false);
    disk.watch();
    assert_eq!(tasks.next_at(0).unwrap(), None);
    assert_eq!(tasks.due_kinds(9).unwrap(), []);
    assert_eq!(tasks.due(TaskKind::Webhook, 9).unwrap(), None);
    assert_eq!(tasks.records(TaskKind::Webhook, "").unwrap(), []);
    tasks.hasten(TaskKind::Fork, 9).unwrap();
    tasks.withdraw(TaskKind::Fork).unwrap();
    tasks.erase().unwrap();
    assert_eq!(disk.statements().len(), 0);
    assert_eq!(disk.read("SELECT * FROM sqlite_master").len(), 0);
}

#[test]
fn tasks_of_a_kind_come_by_their_time_and_at_the_same_instant_by_their_id() {
    let disk = Disk::new();
    let tasks = tasks(&disk);
    for (id, at_ms) in [("b", 5), ("c", 4), ("a", 5), ("d", 6), ("e", 9)] {
        tasks.add(TaskKind::Cancel, id, "", at_ms).unwrap();
    }
    tasks.add(TaskKind::Webhook, "0", "", 1).unwrap();
    assert_eq!(tasks.next_at(0).unwrap(), Some(1));
    assert_eq!(tasks.due_kinds(0).unwrap(), []);
    assert_eq!(tasks.due_kinds(4).unwrap(), [TaskKind::Cancel, TaskKind::Webhook]);
    assert_eq!(ids(&tasks, TaskKind::Cancel, 8), ["c", "a", "b", "d"]);
    assert_eq!(ids(&tasks, TaskKind::Webhook, 8), ["0"]);
    assert_eq!(tasks.next_at(0).unwrap(), Some(9));
}

#[test]
fn a_task_that_is_owed_twice_is_one_and_keeps_its_time_and_its_attempts() {
    let disk = Disk::new();
    let tasks = tasks(&disk);
    tasks.add(TaskKind::Webhook, "m", "first", 1).unwrap();
    let task = tasks.due(TaskKind::Webhook, 1).unwrap().unwrap();
    let failed = Attempted { next: Next::Again(70), status: Some(503) };
    tasks.settle(&task, failed).unwrap();
    tasks.add(TaskKind::Webhook, "m", "second", 9).unwrap();
    assert_eq!(tasks.due(TaskKind::Webhook, 69).unwrap(), None);
    let again = tasks.due(TaskKind::Webhook, 70).unwrap().unwrap();
    assert_eq!((again.work.as_str(), again.attempts, again.created_at), ("first", 1, 1));
}

#[test]
fn what_became_of_an_attempt_is_not_written_into_a_task_that_came_in_the_place_of_its_own() {
    let disk = Disk::new();
    let tasks = tasks(&disk);
    for next in [Next::Done, Next::GivenUp, Next::Again(7), Next::Wait(7)] {
        tasks.add(TaskKind::Webhook, "m", "old", 1).unwrap();
        let old = tasks.due(TaskKind::Webhook, 1).unwrap().unwrap();
        tasks.withdraw(TaskKind::Webhook).unwrap();
        tasks.settle(&old, next.into()).unwrap();
        assert_eq!(tasks.next_at(0).unwrap(), None, "{next:?}");
        tasks.add(TaskKind::Webhook, "m", "new", 2).unwrap();
        tasks.settle(&old, next.into()).unwrap();
        let new = tasks.due(TaskKind::Webhook, 2).unwrap().unwrap();
        assert_eq!((new.work.as_str(), new.attempts), ("new", 0), "{next:?}");
        // An attempt that was stored already is not stored again.
        tasks.settle(&new, Next::Again(3).into()).unwrap();
        tasks.settle(&new, Next::Done.into()).unwrap();
        assert_eq!(tasks.next_at(0).unwrap(), Some(3), "{next:?}");
        tasks.withdraw(TaskKind::Webhook).unwrap();
    }
}

#[test]
fn a_wait_is_no_attempt_and_a_status_stays_until_a_newer_one_comes() {
    let disk = Disk::new();
    let tasks = tasks(&disk);
    tasks.add(TaskKind::Webhook, "m", "work", 1).unwrap();
    let steps = [
        (Next::Again(2), Some(500), 1, Some(500)),
        (Next::Wait(3), None, 1, Some(500)),
        (Next::Again(4), None, 2, Some(500)),
        (Next::Again(5), Some(429), 3, Some(429)),
        (Next::GivenUp, None, 4, Some(429)),
    ];
    for (now_ms, (next, status, attempts, shown)) in (1..).zip(steps) {
        let task = tasks.due(TaskKind::Webhook, now_ms).unwrap().unwrap();
        tasks.settle(&task, Attempted { next, status }).unwrap();
        let record = tasks.records(TaskKind::Webhook, "m").unwrap().remove(0);
        assert_eq!((record.attempts, record.last_status), (attempts, shown), "{next:?}");
    }
    let records = tasks.records(TaskKind::Webhook, "").unwrap();
    assert_eq!(records[0].state, TaskState::GivenUp);
    assert_eq!(disk.read("SELECT work FROM tasks")[0]["work"], "");
}

#[test]
fn the_end_of_a_task_is_kept_where_a_trace_tells_of_it_and_nowhere_else() {
    let disk = Disk::new();
    let tasks = tasks(&disk);
    for kind in TaskKind::ALL {
        for (id, next) in [("done", Next::Done), ("given up", Next::GivenUp)] {
            tasks.add(*kind, id, "work", 1).unwrap();
            let task = tasks.due(*kind, 1).unwrap().unwrap();
            tasks.settle(&task, next.into()).unwrap();
        }
        let kept = tasks.records(*kind, "").unwrap().len();
        assert_eq!(kept, if *kind == TaskKind::Webhook { 2 } else { 0 }, "{kind:?}");
    }
    // What ends twice under one id tells of its newest end.
    tasks.add(TaskKind::Webhook, "done", "again", 2).unwrap();
    assert_eq!(tasks.records(TaskKind::Webhook, "done").unwrap().len(), 2);
    let task = tasks.due(TaskKind::Webhook, 2).unwrap().unwrap();
    tasks.settle(&task, Next::Done.into()).unwrap();
    let records = tasks.records(TaskKind::Webhook, "done").unwrap();
    assert_eq!((records.len(), records[0].created_at), (1, 2));
    assert_eq!(tasks.records(TaskKind::Webhook, "don").unwrap().len(), 1);
    assert_eq!(tasks.records(TaskKind::Webhook, "e").unwrap().len(), 0);
}

#[test]
fn an_erasure_leaves_what_is_owed_all_the_same_with_its_time_and_its_attempts() {
    let disk = Disk::new();
    let tasks = tasks(&disk);
    for kind in TaskKind::ALL {
        tasks.add(*kind, "one", "work", 1).unwrap();
        tasks.add(*kind, "two", "work", 2).unwrap();
        let task = tasks.due(*kind, 1).unwrap().unwrap();
        tasks.settle(&task, Next::Again(50).into()).unwrap();
    }
    tasks.erase().unwrap();
    let left = disk.read("SELECT kind, id, created_at, next_at, attempts, work FROM tasks");
    let left: Vec<String> = left
        .iter()
        .map(|row| {
            let columns = ["kind", "id", "created_at", "next_at", "attempts", "work"];
            columns.map(|column| row[column].to_string().replace('"', "")).join(" ")
        })
        .collect();
    assert_eq!(left, ["cancel one 1 50 1 work", "cancel two 2 2 0 work"]);
    for kind in TaskKind::ALL {
        tasks.withdraw(*kind).unwrap();
    }
    tasks.erase().unwrap();
    assert_eq!(disk.read("SELECT * FROM sqlite_master").len(), 0, "the table goes with the last");
}

#[test]
fn tasks_of_a_kind_that_this_version_does_not_know_wait_and_hold_nothing_up() {
    let disk = Disk::new();
    let tasks = tasks(&disk);
    tasks.add(TaskKind::Cancel, "one", "work", 5).unwrap();
    disk.write("INSERT INTO tasks VALUES ('pending', 'another', 'x', 1, 1, 0, NULL, 'work')");
    assert_eq!(tasks.next_at(9).unwrap(), Some(5));
    assert_eq!(tasks.due_kinds(9).unwrap(), [TaskKind::Cancel]);
    assert_eq!(ids(&tasks, TaskKind::Cancel, 9), ["one"]);
    assert_eq!(tasks.next_at(9).unwrap(), Some(600_009), "the alarm rings on for its version");
    assert_eq!(disk.read("SELECT kind FROM tasks").len(), 1, "it is there for its version");
    tasks.erase().unwrap();
}

#[test]
fn finding_what_is_due_reads_no_task_that_has_ended() {
    let disk = Disk::new();
    let tasks = tasks(&disk);
    for number in 0..300 {
        tasks.add(TaskKind::Webhook, &format!("{number:04}"), "work", 1).unwrap();
    }
    ids(&tasks, TaskKind::Webhook, 1);
    tasks.add(TaskKind::Webhook, "last", "work", 2).unwrap();
    disk.watch();
    assert_eq!(tasks.next_at(0).unwrap(), Some(2));
    assert_eq!(tasks.due_kinds(2).unwrap(), [TaskKind::Webhook]);
    assert!(tasks.due(TaskKind::Webhook, 2).unwrap().is_some());
    for (statement, cost) in disk.statements() {
        assert!(cost.most_scanned <= 1 && cost.most_rows <= 1, "{statement}: {cost:?}");
        let plan = disk.plan(&statement.replace('?', "2"));
        assert!(plan.iter().any(|step| step.contains("SEARCH tasks")), "{statement}: {plan:?}");
    }
}

#[test]
fn an_erasure_reads_no_work_that_it_drops() {
    let disk = Disk::new();
    let tasks = tasks(&disk);
    for number in 0..100 {
        tasks.add(TaskKind::Webhook, &format!("{number:04}"), &"work".repeat(9_000), 1).unwrap();
    }
    tasks.add(TaskKind::Cancel, "response", "agent", 1).unwrap();
    disk.watch();
    tasks.erase().unwrap();
    for (statement, cost) in disk.statements() {
        assert!(cost.most_rows <= 1 && cost.most_bytes < 100, "{statement}: {cost:?}");
    }
    assert_eq!(ids(&tasks, TaskKind::Cancel, 9), ["response"]);
}
