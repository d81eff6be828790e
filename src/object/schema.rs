//! The form of an object's tables: its number, and the one way in which older tables come to it.

use crate::contract::{Fault, Result};
use crate::ports::Database;

/// The last commit of the product that reads the forms from before its first release.
const LAST_READER: &str = "bd8e9697b8eb0c2cac96900b9589d8b2d812bb79";

/// The table that a statement changes, and the statement. It is left out where the object has no such table.
pub type Step = (&'static str, &'static str);

/// The form of the tables of one class of object. No number is used twice.
///
/// Architecture Invariant: an upgrade once released is never edited; a change is a new entry.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// What the tables hold, as a message begins: `The session`.
    pub holds: &'static str,
    /// The table whose only row has the number of the form, in the column `schema_version`.
    pub table: &'static str,
    /// The number of the oldest form that is read.
    pub oldest: usize,
    /// `upgrades[n]` brings tables of the form `oldest + n` to the next one.
    pub upgrades: &'static [&'static [Step]],
}

impl Schema {
    /// The number of the present form.
    pub const fn form(&self) -> usize {
        self.oldest + self.upgrades.len()
    }

    /// Whether the object has tables. Brings older ones to the present form.
    ///
    /// # Errors
    /// Those of [`Schema::bring_up_to_date`].
    pub fn find(&self, database: &impl Database) -> Result<bool> {
        let found = has_table(database, self.table)?;
        if found {
            self.bring_up_to_date(database)?;
        }
        Ok(found)
    }

    /// The form of tables that a newer version of the product wrote; `None` where this one reads them, or there are none.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub fn newer(&self, database: &impl Database) -> Result<Option<usize>> {
        if !has_table(database, self.table)? {
            return Ok(None);
        }
        Ok(self.stored(database)?.filter(|found| *found > self.form()))
    }

    /// The form that the tables have, as their row says it.
    fn stored(&self, database: &impl Database) -> Result<Option<usize>> {
        let statement = format!("SELECT schema_version FROM {} WHERE id = 1", self.table);
        let row = database.first(&statement, &[])?;
        row.map(|row| row.get("schema_version")).transpose()
    }

    /// Brings tables that are there to the present form, all of them or none.
    ///
    /// # Errors
    /// `internal` for a form that this version of the product does not read; nothing is changed.
    pub fn bring_up_to_date(&self, database: &impl Database) -> Result<()> {
        let Self { holds, table, oldest, upgrades } = self;
        // The step that makes the tables writes the row.
        let Some(found) = self.stored(database)? else { return Ok(()) };
        let Some(done) = found.checked_sub(*oldest) else {
            return Err(Fault::internal(format!(
                "{holds} is stored in form {found}, from before the first release. \
                 Commit {LAST_READER} is the last that reads it."
            )));
        };
        let Some(missing) = upgrades.get(done..) else {
            return Err(Fault::internal(format!(
                "{holds} was written by a newer version of the service. Deploy that version again."
            )));
        };
        if missing.is_empty() {
            return Ok(());
        }
        database.transaction(|| {
            for (changed, statement) in missing.iter().copied().flatten() {
                if has_table(database, changed)? {
                    database.execute(statement, &[])?;
                }
            }
            let statement = format!("UPDATE {table} SET schema_version = ?");
            database.execute(&statement, &[self.form().into()])
        })
    }
}

/// Whether the object has a table of that name.
///
/// # Errors
/// `internal` when the storage fails.
pub fn has_table(database: &impl Database, name: &str) -> Result<bool> {
    let statement = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?";
    Ok(database.first(statement, &[name.into()])?.is_some())
}

/// Drops the tables that these statements create, where they are there.
///
/// # Errors
/// `internal` when the storage fails.
pub fn drop_tables<'a>(
    database: &impl Database,
    created_by: impl IntoIterator<Item = &'a &'a str>,
) -> Result<()> {
    // What stands before the name.
    let words = ["CREATE", "VIRTUAL", "TABLE", "IF", "NOT", "EXISTS"];
    created_by.into_iter().try_for_each(|statement| {
        let name = statement.split_whitespace().find(|word| !words.contains(word));
        database.execute(&format!("DROP TABLE IF EXISTS {}", name.unwrap_or_default()), &[])
    })
}
