//! The reader of one request: it records the request's faults in document order.
//!
//! It owns their codes and words, and the bound on the report: of a million faults in a hostile body, it
//! keeps the first hundred and a note.

use super::body::object_text;
use crate::contract::{ErrorCode, Fault};
use crate::json::{Location, NearestName, Node, Place, Problem, Problems};

/// How many faults are listed before the note that there are more.
const REPORT_LIMIT: usize = 100;

/// The longest member name that is repeated back: a report must not grow with the body.
const NAME_LIMIT: usize = 64;

/// Reads the values of a request (see `values`) and keeps the faults.
#[derive(Default)]
pub(super) struct Reader {
    faults: Vec<Fault>,
    /// The code of the first fault that did not fit.
    omitted: Option<ErrorCode>,
    /// Some of the user's input has come, right or wrong: input that is wrong is not reported as missing as well.
    pub(super) has_input: bool,
}

impl Reader {
    /// Reads a body by the method for its object.
    pub(super) fn read_body<T>(
        body: &[u8],
        read: impl FnOnce(&mut Self, Node<'_, '_>) -> Option<T>,
    ) -> Result<T, Vec<Fault>> {
        let node = Node::root(object_text(body)?);
        let mut reader = Self::default();
        let request = read(&mut reader, node);
        reader.settle(request)
    }

    /// Reports a value that breaks its rule. The message is the value's name followed by `problem`,
    /// which says what is expected, without a full stop, and never repeats a value.
    pub(super) fn invalid(&mut self, at: Node<'_, '_>, problem: &str) {
        self.report(ErrorCode::InvalidField, &at.place, problem);
    }

    /// The place in the report of a value whose members or elements are about to be read.
    pub(super) fn mark(&self) -> usize {
        self.faults.len()
    }

    /// Reports a value whose members or elements have been read since `mark`: in document order it
    /// stands before them.
    pub(super) fn invalid_before(&mut self, mark: usize, at: Node<'_, '_>, problem: &str) {
        if self.faults.len() == REPORT_LIMIT
            && mark < REPORT_LIMIT
            && let Some(last) = self.faults.pop()
        {
            self.omitted.get_or_insert(last.code);
        }
        self.invalid(at, problem);
        if let Some(since @ [_, ..]) = self.faults.get_mut(mark..) {
            since.rotate_right(1);
        }
    }

    /// Inserts the faults of a value that was read apart, at the place that `mark` names.
    pub(super) fn insert(&mut self, mark: usize, apart: Self) {
        let at = mark.min(self.faults.len());
        self.faults.splice(at..at, apart.faults);
        self.omitted = self.omitted.or(apart.omitted);
        if let Some(fault) = self.faults.get(REPORT_LIMIT) {
            self.omitted.get_or_insert(fault.code);
            self.faults.truncate(REPORT_LIMIT);
        }
    }

    /// Reports a value that breaks its rule, and gives no value in its place.
    pub(super) fn refuse<T>(&mut self, at: Node<'_, '_>, problem: &str) -> Option<T> {
        self.invalid(at, problem);
        None
    }

    /// Reports a problem of the value at `place`, or of its absence.
    pub(super) fn report(&mut self, code: ErrorCode, place: &Place<'_>, problem: &str) {
        self.record(code, || {
            let Location { pointer, label, .. } = place.location(NAME_LIMIT);
            let label = if label.is_empty() { "The body" } else { &label };
            Fault::new(code, format!("{label} {problem}.")).at(pointer)
        });
    }

    /// Reports a fault, which is built only when there is still room.
    pub(super) fn record(&mut self, code: ErrorCode, fault: impl FnOnce() -> Fault) {
        if self.faults.len() < REPORT_LIMIT {
            self.faults.push(fault());
        } else {
            self.omitted.get_or_insert(code);
        }
    }

    /// The value when the request has no fault, else all faults, in order.
    pub(super) fn settle<T>(mut self, value: Option<T>) -> Result<T, Vec<Fault>> {
        self.faults.extend(self.omitted.map(more_than_listed));
        match value {
            Some(value) if self.faults.is_empty() => Ok(value),
            None if self.faults.is_empty() => {
                Err(Fault::internal("The request was refused without a reason.").into())
            }
            Some(_) | None => Err(self.faults),
        }
    }

    fn report_unknown(&mut self, place: &Place<'_>, nearest: Option<NearestName<'_>>) {
        self.record(ErrorCode::UnknownField, || {
            let Location { pointer, label, .. } = place.location(NAME_LIMIT);
            let hint = match nearest {
                Some(NearestName { name, is_likely: true }) => format!("did you mean {name}?"),
                _ => "remove it.".to_owned(),
            };
            let message = format!("{label} is not a known member; {hint}");
            let fault = Fault::new(ErrorCode::UnknownField, message).at(pointer);
            match nearest {
                Some(nearest) => fault.with("DidYouMean", nearest.name),
                None => fault,
            }
        });
    }
}

/// The faults of a request that were found elsewhere, no more than a report lists.
pub fn as_report(mut faults: Vec<Fault>) -> Vec<Fault> {
    let omitted = faults.get(REPORT_LIMIT).map(|fault| fault.code);
    faults.truncate(REPORT_LIMIT);
    faults.extend(omitted.map(more_than_listed));
    faults
}

/// Says that there are more faults than are listed, the first of them of that code.
fn more_than_listed(code: ErrorCode) -> Fault {
    let message =
        format!("There are more violations than the {REPORT_LIMIT} listed; repair these first.");
    Fault::new(code, message)
}

impl Problems for Reader {
    const NULL_IS_ABSENT: bool = true;

    fn add(&mut self, at: Node<'_, '_>, problem: Problem<'_>) {
        let place = &at.place;
        match problem {
            Problem::Missing(name) => {
                let place = Place::Member(place, name);
                self.report(ErrorCode::MissingField, &place, "is required; add it");
            }
            Problem::Unknown { nearest, .. } => self.report_unknown(place, nearest),
            Problem::Forbidden(problem) => self.report(ErrorCode::ForbiddenField, place, problem),
            Problem::Repeated => {
                self.invalid(at, "stands more than once in its object; send it once");
            }
            Problem::WrongKind(wanted) => self.invalid(at, &format!("must be {wanted}")),
            Problem::Invalid(problem) => self.invalid(at, problem),
        }
    }

    fn is_full(&self) -> bool {
        self.omitted.is_some()
    }
}
