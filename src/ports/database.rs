//! The seam to SQLite. In production it is the Durable Object's storage, in native tests SQLite
//! itself, so that the same statements run in both.
//!
//! Architecture Invariant: synchronous throughout. Statements that run without an await between
//! them are one atomic write of the object.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::contract::{Fault, Result};

/// Runs statements. A method fails with [`storage_failed`] when the database refuses one.
pub trait Database {
    /// Runs one statement and returns its rows.
    fn query(&self, statement: &str, parameters: &[SqlValue]) -> Result<Vec<Row>>;

    /// Runs one statement and returns its first row.
    fn first(&self, statement: &str, parameters: &[SqlValue]) -> Result<Option<Row>> {
        Ok(self.query(statement, parameters)?.into_iter().next())
    }

    /// Runs one statement and returns the text in a column of its first row. A long text is copied once, in
    /// a row several times.
    fn text(
        &self,
        statement: &str,
        parameters: &[SqlValue],
        column: &str,
    ) -> Result<Option<String>> {
        self.first(statement, parameters)?.map(|row| row.get(column)).transpose()
    }

    /// Runs one statement whose rows are a whole number and bytes, and hands out one after the other. Bytes do
    /// not cross as JSON, and no two rows are in memory at once.
    fn each_bytes(
        &self,
        statement: &str,
        parameters: &[SqlValue],
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<()>;

    /// Runs one statement that returns no rows.
    fn execute(&self, statement: &str, parameters: &[SqlValue]) -> Result<()>;

    /// Runs statements that bind nothing and return no rows, one after the other.
    fn execute_all(&self, statements: &[&str]) -> Result<()> {
        statements.iter().try_for_each(|statement| self.execute(statement, &[]))
    }

    /// Runs `writes` as one transaction: all of it is kept or, when it fails, nothing.
    fn transaction<T>(&self, writes: impl FnOnce() -> Result<T>) -> Result<T> {
        let (mut writes, mut done) = (Some(writes), None);
        self.atomically(&mut || {
            if let Some(writes) = writes.take() {
                done = Some(writes()?);
            }
            Ok(())
        })?;
        done.ok_or_else(storage_failed)
    }

    /// [`Database::transaction`] as an implementation provides it. It calls `writes` once.
    fn atomically(&self, writes: &mut dyn FnMut() -> Result<()>) -> Result<()>;
}

/// A value that a statement binds: no bool, which the object's storage binds as the text `'true'`, and
/// no integer above 2^53, which it does not read back.
#[derive(Clone, Debug)]
pub enum SqlValue {
    Null,
    /// A whole number up to 2^53.
    Integer(i64),
    /// UTF-8 text.
    Text(String),
    /// Bytes, at most 2 MB.
    Bytes(Vec<u8>),
}

impl<T: Into<Self>> From<Option<T>> for SqlValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! from {
    ($($($held:ty),+: $value:ident => $made:expr;)+) => {$($(
        impl From<$held> for SqlValue {
            fn from($value: $held) -> Self {
                $made
            }
        }
    )+)+};
}
from! {
    &str: text => Self::Text(text.to_owned());
    String: text => Self::Text(text);
    Vec<u8>: bytes => Self::Bytes(bytes);
    u16, u32: number => Self::Integer(i64::from(number));
    u64, usize: number => Self::Integer(i64::try_from(number).unwrap_or(i64::MAX));
}

/// One row, by column name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Row(pub serde_json::Map<String, serde_json::Value>);

impl Row {
    /// The value in a column; only an `Option` takes NULL.
    ///
    /// # Errors
    /// [`unreadable_column`] when the column is absent or holds something else.
    pub fn get<T: DeserializeOwned>(&self, column: &str) -> Result<T> {
        let held = self.0.get(column).ok_or_else(|| unreadable_column(column))?;
        T::deserialize(held).map_err(|_| unreadable_column(column))
    }

    /// The value in a column of JSON text; NULL is `null`.
    ///
    /// # Errors
    /// Those of [`Row::get`].
    pub fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T> {
        let text = self.get::<Option<String>>(column)?;
        let text = text.as_deref().unwrap_or("null");
        serde_json::from_str(text).map_err(|_| unreadable_column(column))
    }
}

/// `internal`: a column holds a value that we did not write, or not in this form.
pub fn unreadable_column(column: &str) -> Fault {
    Fault::internal(format!("The storage holds an unreadable value in column {column}."))
}

/// `internal`: the database refused a statement. Its own message is for the log only.
pub fn storage_failed() -> Fault {
    Fault::internal("The storage failed.")
}
