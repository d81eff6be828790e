//! Webhooks (interface §15): no event is lost and none is invented, whatever the receiver does.

mod beds;
mod crashes;
mod interleavings;

use std::collections::{BTreeMap, BTreeSet};

use aptix_edge::catalog::WebhookEvent;
use aptix_edge::contract::release;
use aptix_edge::encoding::sha256_hex;
use aptix_edge::webhooks::SigningKey;
use bed::*;
use serde_json::{Value, json};

use self::beds::*;

#[test]
fn each_end_and_each_pause_of_a_turn_is_told_once() {
    let bed = told();
    bed.post(&turn("t1", "One")).final_text();
    let asked = bed.post(&turn("t2", "Two [plan: client]")).calls();
    bed.post(&results("t2", &[(&asked[0], json!(1))])).final_text();
    bed.post(&turn("t3", "Three [plan: client]")).calls();
    // Messages of one moment go out in any order.
    bed.settle();
    bed.try_cancel("t3").unwrap();
    bed.world.model.spoil_once_after(0, error_event("unknown", true));
    let failing = bed.post(&turn("t4", "Four"));
    assert_ne!(failing.status, 200);
    bed.post(&turn("t4", "Four")).final_text();
    // Repeats of ended turns tell nothing.
    assert!(bed.post(&turn("t1", "One")).replayed);
    bed.try_cancel("t3").unwrap();
    deliver_all(&bed);

    let received = bed.world.webhooks.received();
    let told: Vec<Value> = received.iter().map(WebhookMessage::json).collect();
    let seen = |message: &Value| {
        let data = &message["data"];
        json!([message["type"], data["TurnId"], data["Status"], data["Kind"], data["ErrorCode"]])
    };
    assert_eq!(
        told.iter().map(seen).collect::<Vec<_>>(),
        [
            json!(["turn.completed", "t1", "completed", "final", null]),
            json!([
                "turn.awaiting_tools",
                "t2",
                "awaiting_tools",
                "client_tool_continuation",
                null
            ]),
            json!(["turn.completed", "t2", "completed", "final", null]),
            json!([
                "turn.awaiting_tools",
                "t3",
                "awaiting_tools",
                "client_tool_continuation",
                null
            ]),
            json!(["turn.aborted", "t3", "aborted", null, "turn_aborted"]),
            json!(["turn.failed", "t4", "failed", null, failing.failure().1]),
            json!(["turn.completed", "t4", "completed", "final", null]),
        ]
    );
    let ids: BTreeSet<&str> = received.iter().map(WebhookMessage::id).collect();
    assert_eq!(ids.len(), received.len());
    let data = told[1]["data"].as_object().unwrap();
    assert_eq!(
        data.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        ["SessionId", "TurnId", "Tenant", "Status", "Kind", "ToolCalls"].into()
    );
    assert_eq!(data["ToolCalls"], json!([{ "ToolCallId": asked[0], "Name": "ask" }]));
    let at = told[2]["timestamp"].as_str().unwrap();
    let named = ["local", "s", "t2", "turn.completed", "1", at].join("\n");
    assert_eq!(received[2].id(), format!("msg_{:.32}", sha256_hex(named.as_bytes())));
}

#[test]
fn a_turn_that_fails_again_and_one_of_another_life_are_told_by_messages_of_their_own() {
    for answers in [vec![], vec![WebhookAnswer::Unreachable]] {
        let bed = told();
        bed.world.webhooks.script(answers.clone());
        for code in ["unknown", "invalid_prompt"] {
            bed.world.model.spoil_once_after(0, error_event(code, true));
            assert_ne!(bed.post(&turn("t1", "One")).status, 200);
            bed.settle();
            bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1_000);
        }
        deliver_all(&bed);
        bed.try_erase().unwrap();
        bed.settle();
        bed.world.model.spoil_once_after(0, error_event("unknown", true));
        assert_ne!(bed.post(&turn("t1", "One")).status, 200);
        deliver_all(&bed);
        let mut bodies: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for message in bed.world.webhooks.received() {
            assert_eq!(message.event(), "turn.failed");
            bodies.entry(message.id().to_owned()).or_default().insert(message.body);
        }
        assert_eq!(bodies.len(), 3, "{answers:?}: {bodies:?}");
        assert!(bodies.values().all(|bodies| bodies.len() == 1), "{answers:?}: {bodies:?}");
    }
}

#[test]
fn a_failure_that_is_repeated_stands_in_the_trace_beside_the_first() {
    let bed = told();
    for status in [200, 204] {
        bed.world.webhooks.script([WebhookAnswer::Reply(HttpReply::new(status, ""))]);
        bed.world.model.spoil_once_after(0, error_event("unknown", true));
        assert_ne!(bed.post(&turn("t1", "One")).status, 200);
        deliver_all(&bed);
        bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1_000);
    }
    let states = states(&bed, "t1");
    let told: Vec<&Value> = states.iter().map(|state| &state["LastStatus"]).collect();
    assert_eq!(told, [200, 204]);
}

#[test]
fn a_message_is_signed_with_every_secret_at_the_time_of_its_attempt() {
    let bed = told();
    let old = "whsec_b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQtb2xk";
    bed.deploy("OLD_HOOK_SECRET", old);
    bed.configure(|catalog| {
        tell(catalog, json!({ "SigningSecrets": ["HOOK_SECRET", "OLD_HOOK_SECRET"], "Headers": { "X-Env": "${ENV}" } }));
    });
    bed.deploy("ENV", "prod");
    bed.world.webhooks.script([WebhookAnswer::Unreachable]);
    bed.post(&turn("t1", "One")).final_text();
    deliver_all(&bed);
    let received = bed.world.webhooks.received();
    assert_eq!(received.len(), 2);
    assert_eq!((received[0].id(), &received[0].body), (received[1].id(), &received[1].body));
    for WebhookMessage { at_ms, headers, body, url } in &received {
        let sent_at = at_ms / 1000;
        let by = |secret| {
            SigningKey::parse(secret)
                .unwrap()
                .signature(&headers["webhook-id"], sent_at, body)
                .unwrap()
        };
        assert_eq!(headers["webhook-timestamp"], sent_at.to_string());
        assert_eq!(headers["webhook-signature"], format!("{} {}", by(SECRET), by(old)));
        assert_eq!((headers["x-env"].as_str(), url.as_str()), ("prod", URL));
        assert_eq!(headers["user-agent"], format!("aptix-edge/{}", release()));
    }
    assert_ne!(received[0].headers["webhook-signature"], received[1].headers["webhook-signature"]);
}

#[test]
fn an_outcome_is_in_a_message_byte_for_byte_only_where_the_webhook_says_so() {
    let canary = "Canary of the conversation";
    for content in [false, true] {
        let bed = told();
        bed.configure(|catalog| tell(catalog, json!({ "Content": content })));
        bed.world.model.script([say(canary).into()]);
        let heard = bed.post(&turn("t1", "Secret words"));
        bed.post(&turn("t2", "Two [plan: client]")).calls();
        bed.world.model.script([say(&"long ".repeat(60_000)).into()]);
        bed.post(&turn("t3", "Three"));
        bed.try_cancel("t2");
        deliver_all(&bed);
        let bodies: Vec<String> =
            bed.world.webhooks.received().into_iter().map(|message| message.body).collect();
        let held: Vec<bool> = bodies.iter().map(|body| body.contains("\"Outcome\":{")).collect();
        // A session takes one turn at a time, so the third one was refused.
        assert_eq!(held, vec![content; 3], "{bodies:?}");
        assert_eq!(bodies[0].contains(&format!("\"Outcome\":{}}}", heard.text)), content);
        assert_eq!(bodies.concat().contains(canary), content);
        assert!(!bodies.concat().contains("Secret words"));
    }
    let bed = told();
    bed.configure(|catalog| tell(catalog, json!({ "Content": true })));
    bed.world.model.script([say(&"long ".repeat(60_000)).into()]);
    bed.post(&turn("t1", "One")).final_text();
    deliver_all(&bed);
    assert!(bed.world.webhooks.received()[0].json()["data"]["Outcome"].is_null());
}

#[test]
fn an_approval_is_told_without_its_arguments() {
    let bed = told();
    bed.configure(|catalog| {
        tell(catalog, json!({}));
        catalog["ServerTools"][0]["Approval"] = json!("Always");
    });
    bed.post(&turn("t1", "One [plan: server]")).calls();
    deliver_all(&bed);
    let data = bed.world.webhooks.received()[0].json()["data"].clone();
    let calls = data["ToolCalls"].as_array().unwrap();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0]["Name"], "agent_approve_tool");
    assert_eq!(calls[0].as_object().unwrap().len(), 2, "{data}");
}

#[test]
fn eight_attempts_are_made_at_the_times_of_the_schedule_and_then_the_message_is_given_up() {
    let bed = told();
    bed.world.webhooks.script(vec![WebhookAnswer::Reply(HttpReply::new(500, "no")); 20]);
    bed.post(&turn("t1", "One")).final_text();
    deliver_all(&bed);
    let times: Vec<u64> = bed.world.webhooks.received().iter().map(|seen| seen.at_ms).collect();
    let waits: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let wanted = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];
    assert_eq!(waits.len(), wanted.len());
    for (wait, wanted) in waits.iter().zip(wanted) {
        assert!(wait.abs_diff(wanted * 1_000) <= wanted * 100 + 40, "{waits:?}");
    }
    assert_eq!(
        states(&bed, "t1"),
        [
            json!({ "Webhook": "done", "Event": "turn.completed", "State": "failed", "Attempts": 8, "LastStatus": 500 })
        ]
    );
    let log = bed.world.log.borrow();
    let lines = |event: &str| log.iter().filter(|line| line["event"] == event).count();
    assert_eq!((lines("webhook_retry"), lines("webhook_failed")), (7, 1));
    let text = serde_json::to_string(&*log).unwrap();
    for secret in [SECRET, "key=1", "hooks.example"] {
        assert!(!text.contains(secret), "{secret} is in the log");
    }
}

#[test]
fn a_message_that_another_version_has_written_waits_for_that_version() {
    let bed = told();
    bed.world.webhooks.script(vec![WebhookAnswer::Reply(HttpReply::new(500, "no"))]);
    bed.post(&turn("t1", "One")).final_text();
    bed.settle();
    bed.disk.write("UPDATE tasks SET work = '{\"newer\":' || work || '}'");
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 10_000);
    bed.alarm();
    bed.settle();
    assert_eq!((waiting(&bed), bed.world.webhooks.received().len()), (1, 1));
    bed.disk.write("UPDATE tasks SET work = json_extract(work, '$.newer')");
    deliver_all(&bed);
    assert_eq!(states(&bed, "t1")[0]["State"], "delivered");
}

#[test]
fn a_status_decides_what_becomes_of_a_message() {
    let reply = |status: u16| HttpReply::new(status, "");
    let elsewhere = reply(307).with("location", URL);
    let asks = |status: u16| reply(status).with("retry-after", "3600");
    let huge = HttpReply::in_pieces(200, vec![Piece::Bytes(vec![b'x'; 65_536]); 64]);
    let hanging = HttpReply::in_pieces(200, [Piece::EndlessSilence]);
    let broken = HttpReply::in_pieces(200, [Piece::Broken]);
    let late = reply(200).after(20_000);
    // What the receiver does, whether there is another attempt, and after how long at least, in seconds.
    for (row, (answer, again)) in [
        (WebhookAnswer::Reply(reply(200)), None),
        (WebhookAnswer::Reply(reply(299)), None),
        (WebhookAnswer::Reply(huge), None),
        (WebhookAnswer::Reply(hanging), None),
        (WebhookAnswer::Reply(broken), None),
        (WebhookAnswer::Reply(reply(410)), None),
        (WebhookAnswer::Reply(elsewhere), Some(4)),
        (WebhookAnswer::Reply(reply(404)), Some(4)),
        (WebhookAnswer::Reply(asks(429)), Some(3_600)),
        (WebhookAnswer::Reply(asks(503)), Some(3_600)),
        (WebhookAnswer::Reply(asks(500)), Some(4)),
        (WebhookAnswer::Reply(late), Some(19)),
        (WebhookAnswer::Silence, Some(19)),
        (WebhookAnswer::Unreachable, Some(4)),
    ]
    .into_iter()
    .enumerate()
    {
        let bed = told();
        let shown = format!("row {row}");
        bed.world.webhooks.script([answer]);
        let before = bed.world.executor.now_ms();
        assert_eq!(bed.post(&turn("t1", "One")).status, 200);
        assert!(bed.world.executor.now_ms() - before < 1_000, "the turn waited: {shown}");
        deliver_all(&bed);
        let received = bed.world.webhooks.received();
        assert_eq!(received.len(), 1 + usize::from(again.is_some()), "{shown}");
        assert!(received.iter().all(|message| message.url == URL));
        if let Some(seconds) = again {
            let waited = received[1].at_ms - received[0].at_ms;
            assert!(
                (seconds * 1_000..seconds * 1_000 + 2_500).contains(&waited),
                "{shown}: {waited}"
            );
        }
    }
}

#[test]
fn a_receiver_that_is_silent_delays_no_turn() {
    let bed = told();
    bed.world.webhooks.script(vec![WebhookAnswer::Silence; 5]);
    let before = bed.world.executor.now_ms();
    for number in 1..=5 {
        bed.post(&turn(&format!("t{number}"), "Hello")).final_text();
    }
    assert!(bed.world.executor.now_ms() - before < 1_000);
    // One message at a time is on its way.
    assert_eq!(bed.world.webhooks.received().len(), 1);
    deliver_all(&bed);
    let ids: BTreeSet<String> =
        bed.world.webhooks.received().iter().map(|message| message.id().to_owned()).collect();
    assert_eq!(ids.len(), 5);
    assert_eq!(waiting(&bed), 0);
}

#[test]
fn a_secret_that_is_missing_or_wrong_is_a_failed_attempt_and_its_replacement_serves_old_messages() {
    for wrong in ["", "whsec_short", "no prefix"] {
        let bed = told();
        bed.deploy("HOOK_SECRET", wrong);
        bed.post(&turn("t1", "One")).final_text();
        bed.settle();
        assert_eq!(bed.world.webhooks.received().len(), 0);
        assert_eq!(states(&bed, "t1")[0]["Attempts"], 1);
        let log = serde_json::to_string(&*bed.world.log.borrow()).unwrap();
        assert!(log.contains("the secret HOOK_SECRET is not"), "{log}");
        assert!(wrong.is_empty() || !log.contains(wrong));
        bed.deploy("HOOK_SECRET", SECRET);
        deliver_all(&bed);
        assert_eq!(bed.world.webhooks.events(), ["turn.completed"]);
    }
}

#[test]
fn a_webhook_hears_only_the_events_of_contexts_that_name_it() {
    let bed = told();
    bed.configure(|catalog| {
        catalog["Webhooks"] = json!({
            "ends": { "Url": URL, "SigningSecrets": ["HOOK_SECRET"], "Events": ["turn.completed", "turn.failed"] },
            "pauses": { "Url": URL, "SigningSecrets": ["HOOK_SECRET"], "Events": ["turn.awaiting_tools"] },
            "unused": { "Url": URL, "SigningSecrets": ["HOOK_SECRET"] },
        });
        catalog["ConversationContexts"]["default"]["Webhooks"] = json!(["pauses", "ends"]);
    });
    let asked = bed.post(&turn("t1", "One [plan: client]")).calls();
    bed.post(&results("t1", &[(&asked[0], json!(1))])).final_text();
    deliver_all(&bed);
    assert_eq!(bed.world.webhooks.events(), ["turn.awaiting_tools", "turn.completed"]);
    let told: Vec<Value> = states(&bed, "t1");
    let told: Vec<&Value> = told.iter().map(|state| &state["Webhook"]).collect();
    assert_eq!(told, ["pauses", "ends"]);
    assert_eq!(WebhookEvent::ALL.len(), 4);
}

#[test]
fn a_webhook_that_left_the_catalog_is_dropped_after_another_attempt_and_said_in_the_log() {
    let bed = told();
    bed.world.webhooks.script(vec![WebhookAnswer::Unreachable; 2]);
    bed.post(&turn("t1", "One")).final_text();
    bed.settle();
    bed.configure(|_| ());
    deliver_all(&bed);
    assert_eq!(bed.world.webhooks.received().len(), 1);
    assert_eq!(states(&bed, "t1")[0]["State"], "failed");
    let log = bed.world.log.borrow();
    let line = log.iter().find(|line| line["event"] == "webhook_failed").unwrap();
    assert_eq!((&line["webhook"], &line["turn"]), (&json!("done"), &json!("t1")));
}

#[test]
fn nothing_is_sent_of_an_erased_session_and_its_storage_is_free() {
    for on_its_way in [false, true] {
        let bed = told();
        let answer = if on_its_way { WebhookAnswer::Silence } else { WebhookAnswer::Unreachable };
        bed.world.webhooks.script([answer]);
        bed.post(&turn("t1", "One")).final_text();
        bed.post(&turn("t2", "Two")).final_text();
        bed.run_until(|bed| !bed.world.webhooks.received().is_empty(), "a message is sent");
        bed.try_erase().unwrap();
        let sent = bed.world.webhooks.received().len();
        bed.settle();
        assert_eq!(bed.disk.read("SELECT name FROM sqlite_master").len(), 0);
        assert_eq!(bed.world.alarm_at.get(), None);
        assert_eq!(bed.world.webhooks.received().len(), sent);
        // A session of the same name begins anew.
        bed.post(&turn("t1", "Anew")).final_text();
        deliver_all(&bed);
        assert_eq!(bed.world.webhooks.received().len(), sent + 1);
    }
}

#[test]
fn a_turn_without_webhooks_writes_nothing_for_them_and_one_with_a_webhook_one_row_more_and_its_end()
{
    let rows = |bed: &Bed, id: &str| {
        let before = (bed.disk.rows_written.get(), bed.disk.rows_returned.get());
        bed.post(&turn(id, "Hello")).final_text();
        deliver_all(bed);
        let after = (bed.disk.rows_written.get(), bed.disk.rows_returned.get());
        (after.0 - before.0, after.1 - before.1)
    };
    let (without, with_one) = (Bed::new(), told());
    // The second turn, since the first one creates the tables.
    let first = [rows(&without, "t1"), rows(&with_one, "t1")];
    let [plain, told] = [rows(&without, "t2"), rows(&with_one, "t2")];
    assert_eq!(plain.0, 5, "{first:?}");
    assert!((7..=8).contains(&told.0), "{plain:?} {told:?}");
    assert!(told.1 <= plain.1 + 4, "{plain:?} {told:?}");
    assert_eq!(without.disk.read("SELECT 1 FROM sqlite_master WHERE name = 'tasks'").len(), 0);
}

#[test]
fn the_alarm_serves_a_running_turn_and_messages_at_once() {
    let bed = told();
    bed.world.webhooks.script(vec![WebhookAnswer::Unreachable; 2]);
    bed.post(&turn("t1", "One")).final_text();
    bed.settle();
    let running = bed.send_to_silence(&turn("t2", "Two"));
    let at = bed.world.alarm_at.get().unwrap();
    assert!(at <= bed.world.executor.now_ms() + 30_000);
    bed.world.executor.set_now_ms(at);
    bed.alarm();
    bed.run_at_once();
    // The turn is watched again, and the message was attempted.
    assert!(bed.world.alarm_at.get().is_some_and(|next| next <= at + 30_000));
    assert_eq!(bed.world.webhooks.received().len(), 2);
    bed.try_cancel("t2").unwrap();
    bed.wait(&running).unwrap();
    deliver_all(&bed);
    let told: BTreeMap<String, usize> =
        bed.world.webhooks.events().into_iter().fold(BTreeMap::new(), |mut counts, event| {
            *counts.entry(event).or_default() += 1;
            counts
        });
    assert_eq!(told, [("turn.completed".to_owned(), 3), ("turn.aborted".to_owned(), 1)].into());
}

#[test]
fn retention_waits_behind_messages_and_drops_them_with_the_session() {
    let bed = told();
    bed.configure(|catalog| {
        tell(catalog, json!({}));
        catalog["AgentContexts"]["default"]["RetentionDays"] = json!(1);
    });
    bed.world.webhooks.script(vec![WebhookAnswer::Unreachable; 20]);
    bed.post(&turn("t1", "One")).final_text();
    for _ in 0..20 {
        bed.settle();
        let Some(at) = bed.world.alarm_at.get() else { break };
        bed.world.executor.set_now_ms(at.max(bed.world.executor.now_ms()));
        bed.alarm();
    }
    bed.settle();
    assert_eq!(bed.session().status, 404);
    let attempts = bed.world.webhooks.received().len();
    assert!((4..8).contains(&attempts), "{attempts}");
}
