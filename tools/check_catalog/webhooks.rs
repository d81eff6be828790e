//! The webhooks of a catalog: each is sent a signed message that says nothing, a `ping`, by the Worker's own code.

use aptix_edge::encoding::{sha256_hex, timestamp};
use aptix_edge::webhooks::{NotTaken, attempt};
use serde_json::json;

use crate::network::Online;
use crate::report::Findings;

pub(crate) const COLUMNS: [&str; 2] = ["webhook", "ping"];

/// Sends a message to every webhook.
pub(crate) fn asked(online: &Online) -> Findings {
    let mut findings = Findings::default();
    for (name, webhook) in online.catalog.webhooks() {
        if let Some(missing) = online.missing_secret(&format!("/Webhooks/{name}/")) {
            findings.advice.push(format!("{name}: was sent nothing: {missing}"));
            continue;
        }
        // Receivers refuse what is not of now.
        let machine = online.machine().0.in_real_time();
        let now_ms = machine.now_ms();
        let data = json!({ "Webhook": name });
        let body = json!({ "type": "ping", "timestamp": timestamp(now_ms), "data": data });
        let id = sha256_hex(format!("ping\n{name}\n{now_ms}").as_bytes());
        // Of the form that the ids of messages have.
        let id = format!("msg_{}", id.get(..32).unwrap_or(&id));
        let sent = attempt(&machine.platform, webhook, &id, body.to_string());
        let (verdict, advice) = match machine.run(sent) {
            Ok(status) => (format!("taken ({status})"), None),
            Err(NotTaken { status: Some(410), .. }) => {
                ("410".to_owned(), Some("wants no more messages (410)".to_owned()))
            }
            Err(NotTaken { reason, .. }) => ("failed".to_owned(), Some(online.shown(&reason))),
        };
        findings.rows.push(vec![name.to_owned(), verdict]);
        findings.advice.extend(advice.map(|advice| format!("{name}: {advice}")));
    }
    findings
}
