//! The rows that a turn reads and writes, which the object's storage is billed by: a turn writes
//! few, and its reads do not grow with the session.

use bed::*;
use serde_json::json;

/// Rows written and rows returned during `what`.
fn cost(bed: &Bed, what: impl FnOnce()) -> (u64, u64) {
    let disk = &bed.disk;
    let before = (disk.rows_written.get(), disk.rows_returned.get());
    what();
    (disk.rows_written.get() - before.0, disk.rows_returned.get() - before.1)
}

fn plain(bed: &Bed, id: &str) -> (u64, u64) {
    cost(bed, || {
        bed.world.model.script([say("Yes.").into()]);
        bed.post(&turn(id, "Hello")).final_text();
    })
}

#[test]
fn a_plain_follow_up_writes_five_rows_however_long_the_session_is() {
    let bed = Bed::new();
    bed.world.model.forgetful_of_bodies.set(true);
    let turns: u64 = if std::env::var_os("APTIX_LONG_TESTS").is_some() { 5000 } else { 1000 };
    let first = plain(&bed, "t1");
    let mut costs = Vec::new();
    for number in 2..=turns {
        let cost = plain(&bed, &format!("t{number}"));
        if [2, 100, turns].contains(&number) {
            costs.push(cost);
        }
    }
    assert!(costs.iter().all(|cost| cost.0 == 5), "{costs:?}, the first turn: {first:?}");
    assert!(costs[0].1 <= 15, "{costs:?}");
    assert!(costs.iter().all(|cost| cost.1 == costs[0].1), "{costs:?}");

    // The same after a restart, and for the other requests of clients.
    let asked = |what: &dyn Fn(&Bed)| {
        bed.restart();
        cost(&bed, || what(&bed)).1
    };
    assert!(asked(&|bed| _ = plain(bed, "last")) <= 25);
    assert!(asked(&|bed| _ = bed.session()) <= 10);
    assert!(asked(&|bed| _ = bed.turn("t500")) <= 10);
    assert!(asked(&|bed| _ = bed.post(&turn("t500", "Hello"))) <= 10);
    assert!(asked(&|bed| _ = bed.alarm()) <= 10);
}

#[test]
fn what_was_compacted_away_costs_nothing_any_more() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        bed.configure(|catalog| {
            catalog["AgentContexts"][context]["Compaction"] = json!({ "Threshold": 1_500 });
        });
        let model = &bed.world.model;
        model.forgetful_of_bodies.set(true);
        model.counts.set(true);
        let mut costs = Vec::new();
        for number in 1..=600 {
            let words = format!("Hello {}", "word ".repeat(40));
            let request = with(
                turn(&format!("t{number}"), &words),
                json!({ "ConversationContextId": context }),
            );
            costs.push(cost(&bed, || _ = bed.post(&request).final_text()));
        }
        // A compaction comes round every few turns; the dearest turn of as many is compared.
        let dearest = |turns: &[(u64, u64)]| {
            let of = |part: fn(&(u64, u64)) -> u64| turns.iter().map(part).max().unwrap();
            (of(|cost| cost.0), of(|cost| cost.1))
        };
        let (early, late) = (dearest(&costs[60..120]), dearest(&costs[540..]));
        // The summary's length varies a little, and with it the place of the cut.
        assert!(late.0 <= early.0 + 2 && late.1 <= early.1 + 20, "{context}: {early:?}, {late:?}");
        assert!(early.1 < 300, "{context}: {early:?}");
    }
}

#[test]
fn a_turn_that_retrieves_writes_two_rows_more() {
    let bed = Bed::new();
    let documents = json!({ "Documents": [{ "Path": "a.rs", "Contents": "fn hello() {}\n" }] });
    bed.asked("PUT", "/workspaces/w/documents", &documents.to_string()).result();
    let searching = |id: &str, words: &str| {
        let request = with(turn(id, words), json!({ "WorkspaceId": "w" }));
        cost(&bed, || _ = bed.post(&request).final_text()).0
    };
    searching("t1", "Hello");
    assert_eq!(searching("t2", "Hello"), 7);
    // What is not found is not written into the message.
    assert_eq!(searching("t3", "Unheard"), 6);
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["Retrieval"] = json!("None"));
    assert_eq!(searching("t4", "Hello"), 5);
}

#[test]
fn a_step_of_a_turn_that_asks_reads_the_refused_calls_alone() {
    let bed = Bed::new();
    bed.configure(|catalog| catalog["ServerTools"][1]["Approval"] = json!("Always"));
    let ran = || says(vec![call("lookup", json!({}))]).into();
    let gated = says(vec![call("fragile", json!({}))]).into();
    bed.world.model.script([ran(), ran(), ran(), gated, ran(), ran()]);
    let id = bed.post(&turn("t1", "Look")).calls().remove(0);
    bed.disk.watch();
    bed.post(&results("t1", &[(&id, json!({ "Approved": false }))])).final_text();
    let statements = bed.disk.statements();
    let refused = statements.iter().filter(|(text, _)| text.contains("AND approval IS NOT NULL"));
    // Two steps with calls, and the one refusal for each to read.
    assert_eq!(refused.map(|(_, seen)| (seen.runs, seen.most_rows)).collect::<Vec<_>>(), [(2, 1)]);
    // A step reads the calls of the last one; those of the whole turn are for its end.
    let reads_whole = |text: &str| {
        text.contains("* FROM calls WHERE turn = ?") && !text.contains("AND model_call = ?")
    };
    assert!(!statements.keys().any(|text| reads_whole(text)), "{statements:?}");
    let whole =
        statements.iter().filter(|(text, _)| text.contains("SELECT name, result FROM calls"));
    assert_eq!(whole.map(|(_, seen)| seen.runs).sum::<u64>(), 1, "{statements:?}");
}

#[test]
fn a_server_tool_s_call_writes_two_rows_and_reads_none_of_the_earlier_ones() {
    let bed = Bed::new();
    plain(&bed, "t1");
    let looking = |id: &str, steps: usize| {
        let looks = (0..steps).map(|_| says(vec![call("lookup", json!({})); 3]).into());
        bed.world.model.script(looks.chain([say("Done.").into()]).collect::<Vec<_>>());
        cost(&bed, || _ = bed.post(&turn(id, "Look")).final_text()).0
    };
    bed.disk.watch();
    let (one, two, three) = (looking("t2", 1), looking("t3", 2), looking("t4", 3));
    // Besides its calls a step writes its output, theirs, the turn, the session twice, and the transcript of
    // the model call before.
    assert_eq!((two - one, three - two), (3 * 2 + 6, 3 * 2 + 6), "{one}");
    let statements = bed.disk.statements();
    assert!(
        !statements.keys().any(|text| text.contains("runs_on = 'server' AND result IS NOT NULL")),
        "{statements:?}"
    );
}

#[test]
fn keeping_the_ids_of_responses_writes_one_row_for_each() {
    let bed = Bed::new();
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    plain(&bed, "t1");
    assert_eq!(plain(&bed, "t2").0, 6);
    assert_eq!(plain(&bed, "t3").0, 6);
}

#[test]
fn a_follow_up_asks_its_storage_once_and_tells_it_four_times() {
    let bed = Bed::new();
    plain(&bed, "t1");
    plain(&bed, "t2");
    bed.disk.watch();
    plain(&bed, "t3");
    let statements = bed.disk.statements();
    let runs = |reading: bool| -> u64 {
        let chosen = statements.iter().filter(|(text, _)| text.starts_with("SELECT") == reading);
        chosen.map(|(_, seen)| seen.runs).sum()
    };
    // The only read: the turn by its id.
    assert_eq!((runs(true), runs(false)), (1, 4), "{:#?}", statements.keys());
}

#[test]
fn a_session_is_the_same_after_a_restart_whichever_row_tells_of_it() {
    let bed = Bed::new();
    let unchanged = |when: &str| {
        let told = (bed.session().text, bed.disk.session());
        bed.restart();
        assert_eq!((bed.session().text, bed.disk.session()), told, "{when}");
        bed.disk.read("SELECT session_after FROM turns ORDER BY ordinal DESC").remove(0)["session_after"].is_null()
    };
    plain(&bed, "first");
    assert!(unchanged("after the first turn, which writes the session's row"));
    plain(&bed, "second");
    assert!(!unchanged("after a plain turn, which leaves that row unwritten"));
    bed.post(&turn("waiting", "Hello [plan: client]")).calls();
    unchanged("while a turn waits");
    bed.try_cancel("waiting").unwrap();
    unchanged("after a cancelled turn");
    // Its end is that of an older turn, and is written after what a newer one has changed.
    bed.world.model.script([error_event("unknown", true)]);
    assert_eq!(bed.post(&turn("failed", "Hello")).status, 502);
    unchanged("after a failed turn");
    plain(&bed, "newest");
    plain(&bed, "failed");
    unchanged("after an older turn has ended");
    plain(&bed, "last");
    unchanged("after a plain turn once more");
    bed.assert_chain_held();
}

#[test]
fn a_turn_s_row_has_room_for_the_longest_texts() {
    let bed = Bed::new();
    let artifacts: Vec<_> = (0..1000)
        .map(|number| {
            let name = format!("{number}{}", "a".repeat(330));
            json!({ "RelativePath": name, "FileName": name, "Contents": "AAAA", "Encoding": "base64",
                "Origin": "ide", "MimeType": "application/octet-stream" })
        })
        .collect();
    let request = with(turn("t1", "Hello [plan: client]"), json!({ "InputArtifacts": artifacts }));
    let calls = bed.post(&request).calls();
    let said = "x".repeat(440_000);
    bed.world.model.script([say(&said).into()]);
    assert_eq!(bed.post(&results("t1", &[(&calls[0], json!(1))])).final_text(), said);
    let stored = bed.disk.read(
        "SELECT LENGTH(composition) > 400000 AND LENGTH(progress) > 400000 AS long FROM turns",
    );
    assert_eq!(stored[0]["long"], 1, "the test is about long texts");
}

#[test]
fn a_long_progress_is_kept_once_however_often_it_changes() {
    let bed = Bed::new();
    let artifacts: Vec<_> = (0..1000)
        .map(|number| {
            let name = format!("{number}{}", "a".repeat(600));
            json!({ "RelativePath": name, "FileName": name, "Contents": "AAAA", "Encoding": "base64",
                "Origin": "ide", "MimeType": "application/octet-stream" })
        })
        .collect();
    let request = with(turn("t1", "Hello [plan: client]"), json!({ "InputArtifacts": artifacts }));
    let calls = bed.post(&request).calls();
    let kept = |bed: &Bed| {
        let kept = "SELECT progress LIKE '@%' AS long, (SELECT SUM(LENGTH(text)) FROM texts) AS bytes FROM turns";
        let row = bed.disk.read(kept).remove(0);
        assert_eq!(row["long"], 1, "the test is about a long progress");
        row["bytes"].as_u64().unwrap()
    };
    let before = kept(&bed);
    for number in 0..5 {
        assert_eq!(bed.steer("t1", &steer(&format!("s{number}"), "More.")).status, 202);
    }
    assert!(kept(&bed) < before + 10_000, "{} after {before}", kept(&bed));
    bed.restart();
    let heard = bed.post(&results("t1", &[(&calls[0], json!(1))]));
    assert_eq!(heard.result()["UserWarnings"].as_array().unwrap().len(), 1000);
}

#[test]
fn no_statement_of_a_turn_looks_through_a_whole_table() {
    let bed = Bed::new();
    // A compaction reads all that is sent.
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Compaction"] = json!({ "By": "None" });
    });
    for number in 1..=50 {
        plain(&bed, &format!("t{number}"));
    }
    bed.restart();
    bed.disk.watch();
    // A plain turn, one with tools of both kinds, a mode change, a cancel, a failure, a refusal.
    plain(&bed, "plain");
    let asked = bed.post(&turn("tools", "Hello [plan: mixed, mode:ddr]")).calls();
    let given = [(asked[0].as_str(), json!(1)), (asked[1].as_str(), json!(2))];
    bed.post(&results("tools", &given)).final_text();
    bed.post(&turn("cancelled", "Hello [plan: client]")).calls();
    bed.try_cancel("cancelled").unwrap();
    plain(&bed, "after");
    bed.world.model.script([error_event("unknown", true), http_error(413, json!({}), &[])]);
    for status in [502, 413] {
        assert_eq!(bed.post(&turn("failed", "Hello")).status, status);
    }
    bed.post(&turn("failed", "Hello")).final_text();
    let statements = bed.disk.statements().into_iter();
    for (statement, seen) in statements.filter(|(text, _)| !text.starts_with("CREATE")) {
        let tables = bed.disk.plan(&statement);
        // The first of these statements scans for an earlier message. Only the repeat of an older turn runs
        // it, after the model service refused the message or a newer turn followed. The other one is run for
        // a turn that does not fit into the model's context window.
        let rare = statement.contains("kind = 'user' ORDER BY seq DESC LIMIT 1")
            || statement.contains("entry_state <> 'forgotten'");
        let of_the_schema = statement.contains("sqlite_master");
        let scans =
            tables.iter().any(|step| step.starts_with("SCAN") && step != "SCAN CONSTANT ROW");
        assert!(!scans || rare || of_the_schema, "{statement}: {tables:?}");
        assert!(seen.most_scanned == 0 || rare || of_the_schema, "{statement}: {seen:?}");
        assert!(seen.most_rows < 30, "{statement}: {seen:?}");
    }
    bed.assert_chain_held();
}

#[test]
fn the_transcripts_of_a_turn_are_read_one_by_one_by_its_trace_and_by_an_erasure() {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true);
    });
    bed.world.model.script((0..5).map(|_| says(vec![call("lookup", json!({}))]).into()));
    bed.post(&turn("t1", "Look")).final_text();
    bed.disk.watch();
    let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "");
    assert_eq!(trace.result()["ModelCalls"].as_array().unwrap().len(), 6);
    let receipt = bed.try_erase().unwrap();
    assert_eq!(receipt.result()["StoredResponses"]["Deleted"], 6);
    let statements = bed.disk.statements();
    let of_transcripts = statements.iter().filter(|(text, _)| text.contains("record FROM"));
    assert_eq!(of_transcripts.map(|(_, seen)| (seen.runs, seen.most_rows)).max(), Some((10, 1)));
}

#[test]
fn an_export_looks_through_no_table_for_each_turn_and_a_trace_reads_its_own_turn_alone() {
    let bed = Bed::new();
    for number in 1..=40 {
        let mode = ["ddr", "plain"][number % 2];
        bed.post(&turn(&format!("t{number}"), &format!("Hello [plan: mode:{mode}]"))).final_text();
    }
    bed.disk.watch();
    let export = bed.export();
    for (statement, seen) in bed.disk.statements() {
        assert!(seen.runs == 1 || seen.most_scanned < 10, "{statement}: {seen:?}");
    }
    let turns = export["Result"]["Turns"].as_array().unwrap();
    let entries = |turn: &serde_json::Value| turn["Conversation"].as_array().unwrap().len();
    let stored = bed.disk.read("SELECT COUNT(*) AS number FROM conversation");
    assert_eq!(
        turns.iter().map(entries).sum::<usize>() as u64,
        stored[0]["number"].as_u64().unwrap()
    );
    let trace = |bed: &Bed| bed.asked("GET", "/sessions/s/turns/t30/trace", "").result().clone();
    let read = cost(&bed, || assert_eq!(trace(&bed)["ModeChanges"][0]["TurnId"], "t30"));
    assert!(read.1 < 20, "{read:?}");
}

/// The text of a turn that was cancelled stays in its row, and so do the warnings about its artifacts.
#[test]
fn no_statement_of_a_list_of_turns_or_of_a_fork_returns_the_long_rows_of_several_turns() {
    let bed = Bed::new();
    for number in 1..=12 {
        let brought = json!({ "SessionId": "p", "SolutionContextText": format!("S{number}") });
        bed.post(&with(turn(&format!("t{number}"), "Hello"), brought)).final_text();
    }
    let session = bed.world.session("local/p");
    let long = "x".repeat(400_000);
    session.disk.write(&format!(
        "UPDATE turns SET progress = json_set(progress, '$.text_so_far', '{long}')"
    ));
    session.restart(&bed.world);
    session.disk.watch();
    let listed = bed.asked("GET", "/sessions/p/turns?After=t1&Limit=10", "");
    let page = listed.result();
    assert_eq!((page["Turns"].as_array().unwrap().len(), &page["More"]), (10, &json!(true)));
    let fork = r#"{"SessionId":"f","AfterTurnId":"t9"}"#;
    assert_eq!(bed.asked("POST", "/sessions/p/fork", fork).status, 201);
    for (statement, seen) in session.disk.statements() {
        assert!(seen.most_bytes < 900_000, "{statement}: {seen:?}");
    }
    let export = bed.asked("GET", "/sessions/f/export", "");
    assert_eq!(export.result()["SolutionContextText"], "S9");
}
