//! `GET /openapi.json`: the interface as OpenAPI 3.1, with this deployment's limits.
//!
//! `openapi.json` beside this file holds the shapes. An `@NAME` in it stands for a value of the code: a
//! limit of the contract or the deployment, the error codes, whether keys are asked for, the version. Tests
//! compare the shapes with the code that reads requests, and every response with the shapes.

use crate::contract::{ErrorCode, limits};
use crate::ports::Deployment;

const DOCUMENT: &str = include_str!("openapi.json");

/// The credentials, told by their form (interface §13).
const SCHEMES: &str = r#"{
  "Key": {"type": "http", "scheme": "bearer", "description": "An API key of a tenant; with the right ActAs and the header Aptix-User, for one of its users. One of all tenants reads traces alone, of the tenant in the header Aptix-Tenant."},
  "Ticket": {"type": "http", "scheme": "bearer", "bearerFormat": "apt1", "description": "A ticket of POST /tickets."},
  "Token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "A token of the operator's identity provider."}
 }"#;

/// The document, JSON. `version` is the product's; `asks_for_keys` unless the deployment is open.
pub fn openapi(deployment: &Deployment, version: &str, asks_for_keys: bool) -> String {
    let mut document = String::with_capacity(DOCUMENT.len());
    let mut pieces = DOCUMENT.split('@');
    document.extend(pieces.next());
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_');
        let (name, rest) =
            piece.split_at_checked(end.unwrap_or(piece.len())).unwrap_or(("", piece));
        let value = match name {
            "VERSION" => version.to_owned(),
            "SECURITY" if asks_for_keys => {
                r#"[{"Key": []}, {"Ticket": []}, {"Token": []}]"#.to_owned()
            }
            "SECURITY" => "[]".to_owned(),
            "SECURITY_SCHEMES" if asks_for_keys => SCHEMES.to_owned(),
            "SECURITY_SCHEMES" => "{}".to_owned(),
            _ => value_of(name, deployment),
        };
        // `"@NAME"` becomes a JSON value; inside a longer string it becomes text.
        let whole = rest.strip_prefix('"').filter(|_| document.ends_with('"') && name != "VERSION");
        if whole.is_some() {
            document.pop();
        }
        document.push_str(&value);
        document.push_str(whole.unwrap_or(rest));
    }
    document
}

fn value_of(name: &str, deployment: &Deployment) -> String {
    match name {
        "ERROR_CODES" => serde_json::to_string(ErrorCode::ALL).unwrap_or_default(),
        "MAX_BODY_BYTES" => deployment.max_body_bytes.to_string(),
        "MAX_TURNS" => deployment.max_turns.to_string(),
        "MAX_CONTINUATIONS" => deployment.max_continuations.to_string(),
        "MAX_STEERS" => deployment.max_steers.to_string(),
        "MAX_ITERATIONS" => deployment.max_iterations.to_string(),
        "TURN_TIMEOUT_MS" => deployment.turn_timeout_ms.to_string(),
        _ => {
            let limit = limits::ALL.iter().find(|(known, _)| *known == name);
            limit.map_or_else(|| format!("@{name}"), |(_, limit)| limit.to_string())
        }
    }
}
