//! A fault and a warning: the two entries an `InvokeResult` can list (interface §1, InvokeResult).
//!
//! It owns their wire form. It decides nothing about a code; that is `error_code`'s.
//! Neither may ever carry a key, a prompt or the text of a user.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::error_code::ErrorCode;

/// What went wrong, as the client will read it. Every step inside returns `Result<T, Fault>`.
///
/// Wire form: `ErrorCode`, `Message`, `Path`?, `Details`?, `SystemError`. `SystemError` follows
/// from the code and is not read back.
#[derive(Clone, Debug, PartialEq, Deserialize, thiserror::Error)]
#[serde(rename_all = "PascalCase")]
#[error("{code}: {message}")]
pub struct Fault {
    /// The code of the dictionary.
    #[serde(rename = "ErrorCode")]
    pub code: ErrorCode,
    /// What happened and what helps, in plain words.
    pub message: String,
    /// Where in the request, as a JSON Pointer.
    #[serde(default)]
    pub path: Option<String>,
    /// Facts for a program to use.
    #[serde(default)]
    pub details: Option<Map<String, Value>>,
}

/// Something the caller should know that did not stop the invocation.
///
/// Same wire form as a [`Fault`], with `SystemError` false.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Warning {
    /// A snake_case name that a program can test for; not a code of the error dictionary.
    #[serde(rename = "ErrorCode")]
    pub code: Cow<'static, str>,
    /// What happened, in plain words.
    pub message: String,
    /// Where in the request, as a JSON Pointer.
    #[serde(default)]
    pub path: Option<String>,
    /// Facts for a program to use.
    #[serde(default)]
    pub details: Option<Map<String, Value>>,
}

impl From<Fault> for Vec<Fault> {
    fn from(fault: Fault) -> Self {
        vec![fault]
    }
}

impl Fault {
    /// A fault that concerns the request as a whole.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: None, details: None }
    }

    /// `internal`: a fault of this service.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
    }

    /// `internal`: a value has no JSON form. `what` begins the message.
    pub fn unwritable(what: &str) -> Self {
        Self::internal(format!("{what} could not be written as JSON."))
    }

    /// The same fault, at a place in the request (`path` is a JSON Pointer).
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The same fault, with one more fact in `Details`.
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// The HTTP status the fault travels with.
    pub fn http_status(&self) -> u16 {
        self.code.http_status()
    }
}

impl Warning {
    /// A warning that concerns the request as a whole.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), path: None, details: None }
    }
}

/// The wire form that both share.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Entry<'a> {
    error_code: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Map<String, Value>>,
    system_error: bool,
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Entry {
            error_code: self.code.as_str(),
            message: &self.message,
            path: self.path.as_deref(),
            details: self.details.as_ref(),
            system_error: self.code.system_error(),
        }
        .serialize(serializer)
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Entry {
            error_code: &self.code,
            message: &self.message,
            path: self.path.as_deref(),
            details: self.details.as_ref(),
            system_error: false,
        }
        .serialize(serializer)
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

        let warning = Warning {
            path: Some("/ToolsJson".to_owned()),
            ..Warning::new("tool_shadowed", "A server tool wins.")
        };
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
