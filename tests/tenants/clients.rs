//! Clients of two tenants, `acme` and `beta`, each with a key of its tenant's name.

use aptix_edge::encoding::sha256_hex;
use bed::*;
use serde_json::{Value, json};

/// A bed that asks for keys, with what the operator says of tenants.
pub(super) fn tenants(said: Value) -> Bed {
    let bed = Bed::new();
    bed.deploy("AUTH", "keys");
    let key = |tenant: &str| json!({ "Id": "k", "Tenant": tenant, "Sha256": sha256_hex(tenant.as_bytes()) });
    bed.deploy("API_KEYS", &json!(["acme", "beta"].map(key)).to_string());
    let secret = "c2VjcmV0IG9mIGZvcnR5LWVpZ2h0IGJ5dGVzLCB3aGljaCBpcyBlbm91Z2ggcmVhbGx5IQ==";
    bed.deploy("TICKET_KEYS", &json!([{ "Id": "t1", "Secret": secret }]).to_string());
    said_of(&bed, said);
    bed
}

/// Says something else of tenants.
pub(super) fn said_of(bed: &Bed, said: Value) {
    bed.deploy("TENANTS", &said.to_string());
}

/// Who sends a request.
#[derive(Clone, Debug)]
pub(super) struct Client {
    headers: Vec<(&'static str, String)>,
}

/// The client with a tenant's key.
pub(super) fn key(tenant: &str) -> Client {
    Client { headers: vec![("Authorization", format!("Bearer {tenant}"))] }
}

impl Client {
    /// The same, acting for a user.
    pub(super) fn for_user(mut self, user: &str) -> Self {
        self.headers.push(("Aptix-User", user.to_owned()));
        self
    }

    /// The holder of a ticket that this client mints.
    pub(super) fn ticket(&self, bed: &Bed, members: Value) -> Self {
        let operations = ["Execute", "Answer", "Read", "List", "Search", "Erase"];
        let body = with(json!({ "User": "alice", "Operations": operations }), members);
        let minted = self.ask(bed, "POST", "/tickets", &body);
        let ticket = minted.result()["Ticket"].as_str().unwrap().to_owned();
        Self { headers: vec![("Authorization", format!("Bearer {ticket}"))] }
    }

    pub(super) fn send(&self, bed: &Bed, method: &str, target: &str, body: &Value) -> Pending {
        let headers: Vec<_> =
            self.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        bed.ask(method, target, &headers, &body)
    }

    pub(super) fn ask(&self, bed: &Bed, method: &str, target: &str, body: &Value) -> Heard {
        bed.wait(&self.send(bed, method, target, body)).unwrap()
    }

    /// A user turn of a session.
    pub(super) fn say(&self, bed: &Bed, session: &str, id: &str, members: Value) -> Heard {
        let body = with(turn(id, "Hello"), json!({ "SessionId": session }));
        self.ask(bed, "POST", "/execute", &with(body, members))
    }

    pub(super) fn get(&self, bed: &Bed, target: &str) -> Heard {
        self.ask(bed, "GET", target, &Value::Null)
    }

    pub(super) fn fork(&self, bed: &Bed, parent: &str, members: Value) -> Heard {
        self.ask(bed, "POST", &format!("/sessions/{parent}/fork"), &members)
    }
}
