//! Rows by named columns: a column stands beside its value, where it is read and where it is written.

/// Inserts a row: the first words of the statement, the table, the columns with a fixed value in SQL, and the others, each
/// with what it gets. A column without that gets the variable of its name.
macro_rules! insert {
    (@place $column:ident) => { ", ?" };
    (@bound $column:ident) => { $crate::ports::SqlValue::from($column) };
    (@bound $column:ident, $value:expr) => { $crate::ports::SqlValue::from($value) };
    ($database:expr, $insert:literal $table:ident $(($($fixed:ident = $sql:literal),+))? {
        $first:ident $(: $value:expr)? $(, $column:ident $(: $other:expr)?)* $(,)?
    }) => {
        $database.execute(
            concat!(
                $insert, " ", stringify!($table),
                " (", $($(stringify!($fixed), ", ",)+)? stringify!($first), $(", ", stringify!($column),)*
                ") VALUES (", $($($sql, ", ",)+)? "?", $($crate::ports::insert!(@place $column),)* ")"
            ),
            &[
                $crate::ports::insert!(@bound $first $(, $value)?),
                $($crate::ports::insert!(@bound $column $(, $other)?)),*
            ],
        )
    };
}

/// Reads a row as a record. A member without a value has that of the column of its name; of a column that cannot be read
/// the fault of [`super::Row::get`] is returned.
macro_rules! read_row {
    (@member $row:ident, $member:ident) => { $row.get(stringify!($member))? };
    (@member $row:ident, $member:ident, $value:expr) => { $value };
    ($record:ident of $row:ident { $($member:ident $(: $value:expr)?),* $(,)? }) => {
        $record { $($member: $crate::ports::read_row!(@member $row, $member $(, $value)?)),* }
    };
}

pub(crate) use {insert, read_row};
