//! The order of a background response's events (interface §4, Background responses): its stream can be read on after
//! a cut, from the newest event that was taken, so each event counts once.
//!
//! Source: `sequence_number`, which recorded streams count from 0 without gaps.

use serde::Deserialize;

use super::StreamFault;

/// Which events of a response have been taken.
#[derive(Debug, Default)]
pub(super) struct EventOrder {
    /// The number of the newest event that was taken; `None` where no event had any.
    pub(super) newest: Option<u64>,
    /// The event behind which a gap was met before: a service that leaves events out for a second time counts so.
    gap_behind: Option<u64>,
}

#[derive(Deserialize)]
struct Numbered {
    sequence_number: Option<u64>,
}

impl EventOrder {
    /// Takes an event by its data: false for one that was taken before.
    ///
    /// # Errors
    /// [`StreamFault::Gap`] where events before it are missing, unless they are missing for the second time.
    pub(super) fn take(&mut self, data: &str) -> Result<bool, StreamFault> {
        let numbered = serde_json::from_str(data).ok();
        let Some(number) = numbered.and_then(|event: Numbered| event.sequence_number) else {
            return Ok(true);
        };
        if let Some(newest) = self.newest {
            if number <= newest {
                return Ok(false);
            }
            if number > newest + 1 && self.gap_behind.replace(newest) != Some(newest) {
                return Err(StreamFault::Gap);
            }
        }
        self.newest = Some(number);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(order: &mut EventOrder, number: u64) -> Result<bool, StreamFault> {
        order.take(&format!(r#"{{"type":"t","sequence_number":{number}}}"#))
    }

    #[test]
    fn each_event_is_taken_once_and_one_without_a_number_always() {
        let mut order = EventOrder::default();
        assert_eq!(order.newest, None);
        for (number, expected) in [(0, true), (1, true), (1, false), (0, false), (2, true)] {
            assert_eq!(taken(&mut order, number), Ok(expected), "{number}");
        }
        assert_eq!(order.take("{}"), Ok(true));
        assert_eq!(order.take("no JSON"), Ok(true));
        assert_eq!(order.newest, Some(2));
    }

    #[test]
    fn a_gap_is_a_fault_once_and_then_the_way_in_which_the_service_counts() {
        let mut order = EventOrder::default();
        // A stream that is read on begins anywhere.
        assert_eq!(taken(&mut order, 5), Ok(true));
        assert_eq!(taken(&mut order, 8), Err(StreamFault::Gap));
        assert_eq!(order.newest, Some(5));
        assert_eq!(taken(&mut order, 8), Ok(true));
        assert_eq!(taken(&mut order, 10), Err(StreamFault::Gap));
        assert_eq!(taken(&mut order, 9), Ok(true));
        assert_eq!(taken(&mut order, 10), Ok(true));
    }
}
