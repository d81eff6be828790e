//! The seam to SQLite. In production it is the Durable Object's storage, in native tests SQLite
//! itself, so that the same statements run in both.
//!
//! Architecture Invariant: synchronous throughout. Statements that run without an await between
//! them are one atomic write of the object.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use crate::contract::{ErrorCode, Fault};

/// Runs statements. Only text, integers up to 2^53 and NULL are bound: the object's storage binds a
/// bool as the text `'true'` and does not read larger integers back.
pub trait Database {
    /// Runs one statement and gives its rows.
    ///
    /// # Errors
    /// The database's own message, for the operator.
    fn query(&self, statement: &str, parameters: &[Value]) -> Result<Vec<Row>, DatabaseFault>;

    /// Runs one statement that gives no rows.
    ///
    /// # Errors
    /// The database's own message, for the operator.
    fn execute(&self, statement: &str, parameters: &[Value]) -> Result<(), DatabaseFault>;

    /// Runs statements that bind nothing and give no rows, one after the other.
    ///
    /// # Errors
    /// The database's own message, for the operator.
    fn execute_all(&self, statements: &[&str]) -> Result<(), DatabaseFault> {
        statements.iter().try_for_each(|statement| self.execute(statement, &[]))
    }

    /// Runs `writes` as one transaction: all of it is kept or, when it fails, nothing.
    ///
    /// # Errors
    /// Whatever `writes` fails with.
    fn atomically(&self, writes: &mut dyn FnMut() -> Result<(), Fault>) -> Result<(), Fault>;
}

/// A value that goes into or comes out of the database.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// A whole number up to 2^53.
    Integer(i64),
    /// UTF-8 text.
    Text(String),
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

/// Takes a value out of the JSON in which the runtime gives rows.
struct ValueVisitor;

impl Visitor<'_> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("NULL, a whole number or text")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        i64::try_from(number).map(Value::Integer).map_err(E::custom)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! from_unsigned {
    ($($number:ty),*) => {$(
        impl From<$number> for Value {
            fn from(number: $number) -> Self {
                Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
            }
        }
    )*};
}
from_unsigned!(u16, u32, u64, usize);

/// One row, by column name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Row(pub BTreeMap<String, Value>);

impl Row {
    /// The text in a column.
    ///
    /// # Errors
    /// `internal` when the column is absent or holds something else.
    pub fn text(&self, column: &str) -> Result<String, Fault> {
        self.optional_text(column)?.ok_or_else(|| unreadable(column))
    }

    /// The text in a column that may be NULL.
    ///
    /// # Errors
    /// `internal` when the column is absent or holds a number.
    pub fn optional_text(&self, column: &str) -> Result<Option<String>, Fault> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Ok(Some(text.clone())),
            Some(Value::Null) => Ok(None),
            _ => Err(unreadable(column)),
        }
    }

    /// The whole number in a column.
    ///
    /// # Errors
    /// `internal` when the column is absent or holds something else.
    pub fn number<N: TryFrom<i64>>(&self, column: &str) -> Result<N, Fault> {
        self.optional_number(column)?.ok_or_else(|| unreadable(column))
    }

    /// The whole number in a column that may be NULL.
    ///
    /// # Errors
    /// `internal` when the column is absent, holds something else, or is out of range.
    pub fn optional_number<N: TryFrom<i64>>(&self, column: &str) -> Result<Option<N>, Fault> {
        match self.0.get(column) {
            Some(Value::Null) => Ok(None),
            Some(Value::Integer(number)) => {
                N::try_from(*number).map(Some).map_err(|_| unreadable(column))
            }
            _ => Err(unreadable(column)),
        }
    }
}

/// A value that we did not write, or not in this form.
pub fn unreadable(column: &str) -> Fault {
    Fault::new(
        ErrorCode::Internal,
        format!("The storage holds an unreadable value in column {column}."),
    )
}

/// What the database said. For the operator: statements carry no content, values are bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The storage failed: {0}")]
pub struct DatabaseFault(pub String);

impl From<DatabaseFault> for Fault {
    fn from(fault: DatabaseFault) -> Self {
        // What the database said is for the operator, who finds it in the log.
        let DatabaseFault(_) = fault;
        Self::new(ErrorCode::Internal, "The storage failed.")
    }
}
