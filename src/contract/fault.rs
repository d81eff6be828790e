//! A fault and a warning: the two entries that an `InvokeResult` lists (interface §1, InvokeResult).
//!
//! It owns their wire form. What a code means is decided in `error_code`.
//! Neither may ever carry a key, a prompt or the text of a user.

use std::borrow::Cow;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::error_code::ErrorCode;

/// What went wrong, as the client reads it.
pub type Fault = Notice<ErrorCode>;

/// What every step of a request returns: where no other error is named, it fails by a [`Fault`].
pub type Result<T, E = Fault> = std::result::Result<T, E>;

/// Something that the caller should know and that did not stop the invocation. Its code is a
/// snake_case name that a program can test for, and not one of the error dictionary.
pub type Warning = Notice<Cow<'static, str>>;

/// An entry of `Errors` or `Warnings`: `ErrorCode`, `Message`, `Path`?, `Details`?, `SystemError`.
///
/// `SystemError` follows from the code and is not read back.
#[derive(Clone, Debug, PartialEq, Deserialize, thiserror::Error)]
#[serde(rename_all = "PascalCase")]
#[error("{code}: {message}")]
pub struct Notice<C> {
    /// The name that programs test for.
    #[serde(rename = "ErrorCode")]
    pub code: C,
    /// The cause and the remedy, in plain words.
    pub message: String,
    /// The place in the request, as a JSON Pointer.
    pub path: Option<String>,
    pub details: Option<Map<String, Value>>,
}

impl<C> Notice<C> {
    /// A notice about the request as a whole.
    pub fn new(code: impl Into<C>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), path: None, details: None }
    }

    /// The same notice, at a place in the request (`path` is a JSON Pointer).
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The same notice, with one more fact in `Details`.
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    fn write<S: Serializer>(&self, system_error: bool, serializer: S) -> Result<S::Ok, S::Error>
    where
        C: Serialize,
    {
        let mut entry = serializer.serialize_map(None)?;
        entry.serialize_entry("ErrorCode", &self.code)?;
        entry.serialize_entry("Message", &self.message)?;
        if let Some(path) = &self.path {
            entry.serialize_entry("Path", path)?;
        }
        if let Some(details) = &self.details {
            entry.serialize_entry("Details", details)?;
        }
        entry.serialize_entry("SystemError", &system_error)?;
        entry.end()
    }
}

impl Fault {
    /// `internal`: a fault of this service.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
    }

    /// `invalid_field` for a member of the request itself; the problem goes on behind its name.
    pub fn invalid_member(member: &str, problem: impl fmt::Display) -> Self {
        let message = format!("{member} {problem}.");
        Self::new(ErrorCode::InvalidField, message).at(format!("/{member}"))
    }

    /// `internal`: a value has no JSON form. `what` begins the message.
    pub fn unwritable(what: &str) -> Self {
        Self::internal(format!("{what} could not be written as JSON."))
    }

    /// The HTTP status of the fault.
    pub fn http_status(&self) -> u16 {
        self.code.http_status()
    }
}

/// A value as JSON text; `what` begins the message of [`Fault::unwritable`].
///
/// # Errors
/// `internal` for a value that has no JSON form.
pub fn json_text(what: &str, value: &(impl Serialize + ?Sized)) -> Result<String> {
    serde_json::to_string(value).map_err(|_| Fault::unwritable(what))
}

impl From<Fault> for Vec<Fault> {
    fn from(fault: Fault) -> Self {
        vec![fault]
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.write(self.code.system_error(), serializer)
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.write(false, serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_its_members_in_order_and_leaves_absent_ones_out() {
        let fault = Fault::new(ErrorCode::UpstreamTimeout, "Silence.")
            .with("RequestId", "r1")
            .with("Attempts", 2);
        let json = r#"{"ErrorCode":"upstream_timeout","Message":"Silence.","Details":{"Attempts":2,"RequestId":"r1"},"SystemError":true}"#;
        assert_eq!(serde_json::to_string(&fault).unwrap(), json);
        assert_eq!(serde_json::from_str::<Fault>(json).unwrap(), fault);

        let warning = Warning::new("tool_shadowed", "A server tool wins.").at("/ToolsJson");
        let json = r#"{"ErrorCode":"tool_shadowed","Message":"A server tool wins.","Path":"/ToolsJson","SystemError":false}"#;
        assert_eq!(serde_json::to_string(&warning).unwrap(), json);
        assert_eq!(serde_json::from_str::<Warning>(json).unwrap(), warning);
    }

    #[test]
    fn a_fault_prints_its_code_and_message_only() {
        let fault = Fault::new(ErrorCode::Internal, "Broken.").at("/X").with("K", "v");
        assert_eq!(fault.to_string(), "internal: Broken.");
    }
}
