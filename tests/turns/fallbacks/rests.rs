//! A service that failed rests: for some time no call of the isolate begins with it.

use super::*;

#[test]
fn no_call_waits_for_a_service_that_rests_and_then_each_that_begins_tries_it() {
    let bed = with_fallbacks();
    bed.world.model.spoil_after(0, down());
    let of = |session: u32, id: &str| {
        with(turn(id, "One"), json!({ "SessionId": format!("s{session}") }))
    };
    for session in 0..1_000 {
        bed.post(&of(session, "t1")).final_text();
    }
    assert_eq!((bed.world.model.requests(), bed.world.spare.requests()), (2, 1_000));
    let executor = &bed.world.executor;
    executor.set_now_ms(executor.now_ms() + 29_000);
    bed.post(&of(0, "t2")).final_text();
    assert_eq!(bed.world.model.requests(), 2);
    executor.set_now_ms(executor.now_ms() + 1_000);
    bed.world.model.mend();
    for session in 0..20 {
        let heard = bed.post(&of(session, "t3"));
        assert_eq!((heard.final_text(), warnings(&heard)), ("Answer to One.", vec![]));
    }
    assert_eq!((bed.world.model.requests(), bed.world.spare.requests()), (22, 1_001));
}

#[test]
fn a_service_rests_as_long_as_it_asks_for_up_to_ten_minutes_and_where_all_rest_the_first_is_asked()
{
    for (asked_s, rests_ms) in [("1", 30_000), ("90", 90_000), ("7200", 600_000)] {
        let bed = with_fallbacks();
        let busy =
            http_error(429, json!({}), &[("retry-after", asked_s), ("x-should-retry", "false")]);
        bed.world.model.script([busy]);
        bed.post(&turn("t1", "One")).final_text();
        let executor = &bed.world.executor;
        executor.set_now_ms(executor.now_ms() + rests_ms - 1);
        bed.post(&turn("t2", "Two")).final_text();
        assert_eq!(bed.world.model.requests(), 1, "{asked_s}");
        executor.set_now_ms(executor.now_ms() + 1);
        bed.post(&turn("t3", "Three")).final_text();
        assert_eq!(bed.world.model.requests(), 2, "{asked_s}");
    }
    let bed = with_fallbacks();
    let services = [&bed.world.model, &bed.world.spare, &bed.world.third];
    services.iter().for_each(|service| service.spoil_after(0, down()));
    assert_eq!(bed.post(&turn("t1", "One")).failure(), (502, "upstream_unavailable"));
    services.iter().for_each(|service| service.mend());
    let heard = bed.post(&turn("t2", "Two"));
    assert_eq!((heard.final_text(), warnings(&heard)), ("Answer to Two.", vec![]));
    assert_eq!(bed.world.model.requests(), 3);
}

#[test]
fn moving_on_passes_over_what_rests_and_comes_back_to_it_where_nothing_else_is_left() {
    let bed = with_fallbacks();
    bed.world.model.spoil_after(0, down());
    bed.world.spare.spoil_after(0, down());
    bed.post(&turn("t1", "One")).final_text();
    assert_eq!(services(&bed, "t1"), ["third [default default spare spare]"]);
    // Both rest. The third fails, and the first is asked although it rests.
    bed.world.model.mend();
    bed.world.third.spoil_after(0, down());
    bed.post(&turn("t2", "Two")).final_text();
    assert_eq!(services(&bed, "t2"), ["default [third third]"]);
    // Without rest nothing is passed over.
    bed.deploy("FALLBACK_REST_MS", "0");
    bed.world.model.spoil_after(0, down());
    bed.world.spare.mend();
    for id in ["t3", "t4"] {
        bed.post(&turn(id, "Three")).final_text();
        assert_eq!(services(&bed, id), ["spare [default default]"]);
    }
}
