//! When a message is attempted again: eight attempts in 28 hours, as the Standard Webhooks specification advises.

/// The waits after the first attempt, the second and so on, in milliseconds.
const WAITS_MS: [u64; 7] =
    [5_000, 5 * 60_000, 30 * 60_000, 2 * 3_600_000, 5 * 3_600_000, 10 * 3_600_000, 10 * 3_600_000];

/// A wait is longer or shorter by at most this part of it, so that the messages of an outage do not come back at once.
const SPREAD: f64 = 0.1;

/// The longest wait that a receiver is granted.
const LONGEST_MS: u64 = 86_400_000;

/// The wait after that many failed attempts, in milliseconds; `None` after the last one. A receiver may ask for more
/// (`asked_ms`), not for less: who asked for less each time would have no attempts left a moment later. `random` is in
/// `[0, 1)`.
pub fn next_wait_ms(attempts: u32, asked_ms: Option<u64>, random: f64) -> Option<u64> {
    let place = usize::try_from(attempts).ok()?.checked_sub(1)?;
    let wait = *WAITS_MS.get(place)?;
    let spread = 1.0 - SPREAD + 2.0 * SPREAD * random;
    let wait = (wait as f64 * spread) as u64;
    Some(wait.max(asked_ms.unwrap_or_default().min(LONGEST_MS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_attempts_are_made_in_28_hours_give_or_take_a_tenth() {
        for random in [0.0, 0.5, 0.999_999] {
            let waits: Vec<u64> = (1..).map_while(|n| next_wait_ms(n, None, random)).collect();
            assert_eq!(waits.len(), 7);
            for (wait, wanted) in waits.iter().zip(WAITS_MS) {
                assert!(wait.abs_diff(wanted) <= wanted / 10, "{wait} {wanted}");
            }
        }
        assert_eq!(WAITS_MS.iter().sum::<u64>() / 3_600_000, 27);
        assert_eq!(next_wait_ms(0, None, 0.5), None);
    }

    #[test]
    fn a_receiver_may_ask_for_more_time_up_to_a_day() {
        assert_eq!(next_wait_ms(1, Some(60_000), 0.5), Some(60_000));
        assert_eq!(next_wait_ms(1, Some(0), 0.5), Some(5_000));
        assert_eq!(next_wait_ms(1, Some(u64::MAX), 0.5), Some(86_400_000));
        assert_eq!(next_wait_ms(8, Some(60_000), 0.5), None);
    }
}
