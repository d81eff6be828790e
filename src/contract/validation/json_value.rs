//! Reading one JSON value as what its member must be: text, a flag, a number, one of a few names,
//! or a list.
//!
//! Each reader gives the value, or reports why there is none and gives nothing. None repeats a
//! value in its report.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json_object::for_each_element;
use super::place::Place;
use super::violations::Violations;
use crate::contract::error_code::ErrorCode;
use crate::contract::limits;

/// The largest integer that every JSON implementation can hold exactly.
const LARGEST_INTEGER: u64 = 1 << 53;

/// A string of at most `longest` characters.
pub fn text(
    longest: usize,
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<String> {
    if !value.get().starts_with('"') {
        invalid(violations, place, "must be a string");
        return None;
    }
    let Ok(text) = serde_json::from_str::<String>(value.get()) else {
        // The body is JSON, so it can only be an escape for half a character.
        invalid(violations, place, "is not valid Unicode; escape no lone surrogates");
        return None;
    };
    // A text has no more characters than bytes, so most are never counted.
    if text.len() > longest && text.chars().count() > longest {
        invalid(violations, place, &format!("must be at most {longest} characters long"));
        return None;
    }
    Some(text)
}

/// A string that is not empty.
pub fn full_text(
    longest: usize,
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<String> {
    let text = text(longest, value, place, violations)?;
    if text.is_empty() {
        invalid(violations, place, "must not be empty");
        return None;
    }
    Some(text)
}

/// A string of which an empty one says no more than an absent one.
pub fn hint(value: &RawValue, place: &Place<'_>, violations: &mut Violations) -> Option<String> {
    text(limits::HINT, value, place, violations).filter(|text| !text.is_empty())
}

/// `true` or `false`.
pub fn flag(value: &RawValue, place: &Place<'_>, violations: &mut Violations) -> Option<bool> {
    match value.get() {
        "true" => Some(true),
        "false" => Some(false),
        _ => {
            invalid(violations, place, "must be true or false");
            None
        }
    }
}

/// An integer from 0 to 2^53, written without fraction or exponent.
pub fn integer(value: &RawValue, place: &Place<'_>, violations: &mut Violations) -> Option<u64> {
    let digits = value.get();
    let number = Some(digits)
        .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|digits| digits.parse().ok())
        .filter(|number| *number <= LARGEST_INTEGER);
    if number.is_none() {
        invalid(
            violations,
            place,
            "must be an integer from 0 to 2^53, without fraction or exponent",
        );
    }
    number
}

/// One of a few names; `expected` lists them for the message.
pub fn one_of<T: for<'a> Deserialize<'a>>(
    expected: &'static str,
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<T> {
    let choice = serde_json::from_str(value.get()).ok();
    if choice.is_none() {
        invalid(violations, place, &format!("must be one of {expected}"));
    }
    choice
}

/// An array of at most `most` elements, each read by `element`. Elements that are not given are
/// left out: they have been reported.
pub fn list<'a, T>(
    most: usize,
    value: &'a RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
    mut element: impl FnMut(&'a RawValue, &Place<'_>, &mut Violations) -> Option<T>,
) -> Option<Vec<T>> {
    let mut list = Vec::new();
    let mut count = 0;
    let walked = for_each_element(value.get(), |index, value| {
        count = index + 1;
        if index >= most || violations.overflowed() {
            return;
        }
        list.extend(element(value, &Place::Element(place, index), violations));
    });
    if walked.is_err() {
        invalid(violations, place, "must be an array");
        return None;
    }
    if count > most {
        invalid(violations, place, &format!("must hold at most {most} elements, not {count}"));
    }
    Some(list)
}

/// Reports that the value at `place` breaks its rule.
pub fn invalid(violations: &mut Violations, place: &Place<'_>, problem: &str) {
    violations.report(ErrorCode::InvalidField, place, problem);
}
