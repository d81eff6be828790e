//! The build of a fork is cut at every step of both objects: afterwards there is no fork or a whole one.

use super::*;

/// A parent with rows in every table, and texts of their own.
fn parent(bed: &Bed) {
    bed.say("p", "t1", "One").final_text();
    bed.say("p", "t2", "Two [plan: mode:plain, client]").calls();
    bed.asked("POST", "/sessions/p/turns/t2/steer", &steer("s1", "More").to_string());
    bed.asked("POST", "/sessions/p/turns/t2/cancel", "").result();
    bed.say("p", "t3", "Three").final_text();
}

/// The same, with a message and an outcome that need rows of their own.
fn long_parent(bed: &Bed) {
    bed.world.model.script([say(&"Wort".repeat(115_000)).into()]);
    bed.say("p", "t0", &format!("Zero {}", "Wort ".repeat(91_000))).final_text();
    parent(bed);
}

/// What a whole fork shows.
fn shown(bed: &Bed) -> Value {
    let mut export = bed.look("f", "/export");
    for time in ["CreatedAt", "UpdatedAt"] {
        export[time].take();
    }
    export
}

/// Whether the fork is whole; else nothing of it is seen.
fn is_whole(bed: &Bed, whole: &Value) -> bool {
    let heard = bed.asked("GET", "/sessions/f", "");
    match heard.status {
        200 => assert_eq!(shown(bed), *whole),
        _ => assert_eq!(heard.failure(), (404, "session_not_found")),
    }
    heard.status == 200
}

#[test]
fn a_build_that_is_cut_is_finished_by_the_same_request_or_by_the_alarm() {
    let whole = {
        let bed = Bed::new();
        long_parent(&bed);
        bed.fork(json!({ "AfterTurnId": "t2" })).result();
        shown(&bed)
    };
    let mut points = 0;
    let kinds: [fn(&Disk, u64) -> Crash; 2] = [
        |disk, number| Crash::AfterStep(disk.steps.get() + number),
        |disk, number| Crash::BeforeWrite(disk.writes.get() + number),
    ];
    for (object, by_alarm) in [("f", false), ("f", true), ("p", false), ("p", true)] {
        for kind in kinds {
            for number in 1.. {
                let bed = Bed::new();
                long_parent(&bed);
                let point = kind(&bed.object(object).disk, number);
                bed.object(object).restart_to_crash(&bed.world, Some(point));
                let first = bed.fork(json!({ "AfterTurnId": "t2" }));
                if !bed.object(object).has_ended() {
                    assert_eq!(first.status, 201, "{}", first.text);
                    break;
                }
                points += 1;
                go_on(&bed, by_alarm, &whole);
            }
        }
    }
    assert!(points > 40, "{points}");
}

/// Goes on after a crash.
fn go_on(bed: &Bed, by_alarm: bool, whole: &Value) {
    let is_built = || bed.object("f").disk.read("SELECT 1 FROM fork").len() == 1;
    if !is_whole(bed, whole) && is_built() {
        assert_eq!(bed.say("f", "t9", "Nine").failure(), (404, "session_not_found"));
    }
    if by_alarm {
        bed.pass_alarms();
        if !is_whole(bed, whole) {
            assert_eq!(tables(bed, "f"), Vec::<String>::new());
        }
    } else {
        let again = bed.fork(json!({ "AfterTurnId": "t2" }));
        assert_eq!(again.status, 201, "{}", again.text);
        assert!(is_whole(bed, whole));
    }
    bed.fork(json!({ "AfterTurnId": "t2" })).result();
    bed.say("f", "t3", "Next").final_text();
    bed.assert_chain_held();
}

#[test]
fn two_requests_at_once_make_one_fork() {
    for seed in 0..20 {
        let bed = Bed::new();
        parent(&bed);
        bed.world.shake(seed);
        let body = json!({ "AfterTurnId": "t2" });
        let requests =
            [bed.send_fork(body.clone()), bed.send_fork(body.clone()), bed.send_fork(json!({}))];
        let heard: Vec<Heard> = requests.iter().map(|sent| bed.wait(sent).unwrap()).collect();
        let made = heard.iter().filter(|heard| heard.status == 201).count();
        let exist = heard.iter().filter(|heard| heard.failure() == (409, "session_exists")).count();
        assert_eq!(made + exist, 3, "{seed}: {heard:?}");
        assert!(
            made == 2 && heard[0].result() == heard[1].result() || made == 1,
            "{seed}: {heard:?}"
        );
        bed.say("f", "t9", "Next").final_text();
    }
}

#[test]
fn a_fork_that_is_erased_while_it_is_built_never_comes() {
    let mut ended = 0;
    for seed in 0..20 {
        let bed = Bed::new();
        long_parent(&bed);
        bed.world.shake(seed);
        let fork = bed.send_fork(json!({}));
        let is_built = |bed: &Bed| tables(bed, "f").iter().any(|table| table == "fork");
        bed.run_until(is_built, "the build begins");
        let erased = bed.asked("DELETE", "/sessions/f", "");
        let heard = bed.wait(&fork).unwrap();
        if erased.status == 404 {
            ended += 1;
            assert_eq!(heard.failure(), (404, "session_not_found"), "{seed}");
        }
        bed.pass_alarms();
        assert_eq!(tables(&bed, "f"), Vec::<String>::new(), "{seed}");
        assert_eq!(bed.fork(json!({})).status, 201, "{seed}");
    }
    assert!(ended > 3, "{ended}");
}

#[test]
fn a_parent_that_changes_meanwhile_gives_a_whole_fork_or_none() {
    let mut met = [0; 3];
    for seed in 0..120 {
        let bed = Bed::new();
        bed.say("p", "t1", "One").final_text();
        bed.world.model.script([http_error(401, json!({}), &[])]);
        bed.say("p", "t2", "Two [plan: client]");
        bed.say("p", "t3", "Three").final_text();
        bed.world.shake(seed);
        let fork = bed.send_fork(json!({}));
        for _ in 0..seed % 30 {
            bed.step();
        }
        let act = (seed / 30) as usize % 2;
        let other = match act {
            0 => bed.ask("DELETE", "/sessions/p", &[], ""),
            _ => bed.send(&with(turn("t2", "Two [plan: client]"), json!({ "SessionId": "p" }))),
        };
        let heard = bed.wait(&fork).unwrap();
        bed.wait(&other).unwrap();
        match heard.status {
            201 => {
                met[0] += 1;
                assert_eq!(bed.look("f", "")["TurnCount"], 3);
                bed.say("f", "t9", "Nine").final_text();
            }
            404 => met[1] += 1,
            409 => met[2] += 1,
            _ => panic!("{seed}: {}", heard.text),
        }
        if heard.status != 201 {
            bed.pass_alarms();
            assert_eq!(bed.asked("GET", "/sessions/f", "").status, 404);
            assert_eq!(tables(&bed, "f"), Vec::<String>::new());
        }
    }
    assert!(met.iter().all(|times| *times > 3), "{met:?}");
}

#[test]
fn a_client_that_sends_a_failing_fork_again_and_again_makes_nobody_give_up_sooner() {
    let bed = Bed::new();
    long_parent(&bed);
    let disk = Rc::clone(&bed.object("p").disk);
    let spoil = || disk.write("UPDATE texts SET hash = hash || '!'");
    spoil();
    let ask = || bed.fork(json!({ "AfterTurnId": "t2" }));
    for _ in 0..12 {
        assert_eq!(ask().failure(), (500, "internal"));
    }
    disk.write("UPDATE texts SET hash = RTRIM(hash, '!')");
    let builds = bed.object("f").disk.read("SELECT build FROM fork");
    assert_eq!(builds.len(), 1, "the build was dropped");
    ask().result();
    bed.asked("DELETE", "/sessions/f", "").result();
    bed.pass_alarms();

    // One that fails for so long as the alarm takes for its attempts is given up.
    spoil();
    let is_built = || tables(&bed, "f").iter().any(|table| table == "fork");
    for _ in 0..10 {
        assert_eq!(ask().failure(), (500, "internal"));
        assert!(is_built());
        bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 30_000);
    }
    assert_eq!(ask().failure(), (500, "internal"));
    assert!(!is_built());
}
