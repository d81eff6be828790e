//! The violations of one request, in the order in which they are found: document order.
//!
//! It owns the bound on the report. A hostile body of a million faults is answered with the first
//! hundred and a note, and costs no more memory than those.

use super::place::Place;
use crate::contract::error_code::ErrorCode;
use crate::contract::fault::Fault;

/// How many violations are listed before the note that there are more.
pub const REPORT_LIMIT: usize = 100;

/// What was found wrong so far.
#[derive(Debug, Default)]
pub struct Violations {
    faults: Vec<Fault>,
    /// The code of the first violation that did not fit.
    omitted: Option<ErrorCode>,
}

impl Violations {
    /// Nothing wrong yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports that what stands at `place` is wrong. The message is the place's name followed by
    /// `problem`, which says what is expected, without a full stop, and never repeats a value.
    pub fn report(&mut self, code: ErrorCode, place: &Place<'_>, problem: &str) {
        self.add(code, || {
            Fault::new(code, format!("{} {problem}.", place.label())).at(place.pointer())
        });
    }

    /// Reports a fault; it is built only when there is still room.
    pub fn add(&mut self, code: ErrorCode, fault: impl FnOnce() -> Fault) {
        if self.faults.len() < REPORT_LIMIT {
            self.faults.push(fault());
        } else {
            self.omitted.get_or_insert(code);
        }
    }

    /// Whether the report has been cut: then nothing that is found can change the answer any more,
    /// and the rest of a hostile body is not worth looking at.
    #[must_use]
    pub fn overflowed(&self) -> bool {
        self.omitted.is_some()
    }

    /// The value, when nothing was wrong.
    ///
    /// # Errors
    /// Every violation, in order.
    pub fn settle<T>(mut self, value: Option<T>) -> Result<T, Vec<Fault>> {
        if let Some(code) = self.omitted {
            self.faults.push(Fault::new(
                code,
                format!(
                    "There are more violations than the {REPORT_LIMIT} listed; repair these first."
                ),
            ));
        }
        match value {
            Some(value) if self.faults.is_empty() => Ok(value),
            None if self.faults.is_empty() => Err(vec![Fault::new(
                ErrorCode::Internal,
                "The request was refused without a reason.",
            )]),
            Some(_) | None => Err(self.faults),
        }
    }
}
