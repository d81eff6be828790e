//! A fork goes on from the rung of its parent: what the service refuses is known, and is not paid for twice.

use super::super::forks::Forking;
use super::*;

/// What each model call of a turn was reduced to.
fn reduced(bed: &Bed, session: &str, turn: &str) -> Vec<String> {
    let trace = bed.look(session, &format!("/turns/{turn}/trace"));
    let calls = trace["ModelCalls"].as_array().unwrap();
    calls.iter().map(|call| call["Reduced"].as_str().unwrap_or("-").to_owned()).collect()
}

/// A session `p` of three turns, in an agent context, before a service that refuses by a rule; its next turn has climbed.
fn climbed(context: &str, breaks: impl Fn(&[ConversationItem]) -> bool + 'static) -> Bed {
    let bed = Bed::new();
    bed.configure(|catalog| {
        let agent = catalog["ConversationContexts"][context].clone();
        catalog["ConversationContexts"]["default"] = agent;
    });
    bed.say("p", "t1", "First. [plan: server]").final_text();
    bed.say("p", "t2", "Second.").final_text();
    let items = vec![Item::Reasoning, searched(), Item::Text(vec!["Found it.".to_owned()])];
    bed.world.model.script([says(items).into()]);
    bed.say("p", "t3", "Third.").final_text();
    refuse(&bed, breaks);
    bed.say("p", "t4", "Fourth.").final_text();
    bed
}

#[test]
fn a_fork_goes_on_from_its_parents_rung() {
    type Breaks = fn(&[ConversationItem]) -> bool;
    let rules: [(&str, Breaks); 3] = [
        ("items", |items| of_kind(items, "reasoning")),
        ("plain", |items| of_kind(items, "function_call")),
        ("turn", |items| items.iter().any(|item| item.to_string().contains("Second."))),
    ];
    for context in ["default", "replay"] {
        for (rung, breaks) in rules {
            let bed = climbed(context, breaks);
            let what = format!("{rung}, {context}");
            let refused = || bed.world.model.rules.refused.borrow().len();
            assert_eq!(reduced(&bed, "p", "t4").last().unwrap(), rung, "{what}");
            let before = refused();
            // Behind the turn that has climbed, and behind one before it.
            for (fork, after) in [("f", "t4"), ("g", "t3")] {
                let made = bed.fork(json!({ "SessionId": fork, "AfterTurnId": after }));
                assert_eq!(made.status, 201, "{}", made.text);
                bed.object(fork).restart(&bed.world);
                bed.say(fork, "n1", "Next.").final_text();
                bed.say(fork, "n2", "And next.").final_text();
                assert_eq!(reduced(&bed, fork, "n2"), [rung], "{what}, {fork}");
                super::super::replays::assert_rebuilds(&bed, fork);
            }
            assert_eq!(reduced(&bed, "f", "n1"), [rung], "{what}");
            // Behind the earlier turn, nothing was left out yet.
            match rung {
                "turn" => assert_eq!(reduced(&bed, "g", "n1"), ["plain", "turn"], "{what}"),
                _ => assert_eq!(reduced(&bed, "g", "n1"), [rung], "{what}"),
            }
            assert_eq!(refused() - before, usize::from(rung == "turn"), "{what}");
            let warnings = bed.look("f", "/turns/n1");
            assert!(!warnings["Outcome"].to_string().contains("left out"), "{warnings}");
            bed.assert_chain_held();
        }
    }
}
