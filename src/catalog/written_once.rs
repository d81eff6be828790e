//! A text that follows from the catalog and is the same for each turn: written when it is first asked for, and kept.

use std::sync::OnceLock;

use serde_json::value::RawValue;

/// JSON that is written once.
#[derive(Clone, Debug, Default)]
pub struct WrittenOnce(OnceLock<Box<RawValue>>);

/// What is kept follows from the rest of the catalog, so it makes no difference.
impl PartialEq for WrittenOnce {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl WrittenOnce {
    /// The JSON, written by `write` unless it is there.
    ///
    /// # Errors
    /// That of `write`; the next call writes it again.
    pub fn or_write<E>(
        &self,
        write: impl FnOnce() -> Result<Box<RawValue>, E>,
    ) -> Result<Box<RawValue>, E> {
        if let Some(written) = self.0.get() {
            return Ok(written.clone());
        }
        let written = write()?;
        Ok(self.0.get_or_init(|| written).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_written_is_written_again_and_what_was_written_is_kept() {
        let once = WrittenOnce::default();
        let json = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        assert_eq!(once.or_write(|| Err("fault")).unwrap_err(), "fault");
        for later in ["1", "2"] {
            assert_eq!(once.or_write(|| Ok::<_, &str>(json(later))).unwrap().get(), "1");
        }
    }
}
