//! `GET /health`: that the service is up, which build it is, and the forms in which its objects store.

use crate::contract::{COMMIT, shown};
use crate::persistence::SESSION_FORM;
use crate::retrieval::WORKSPACE_FORM;
use crate::users::USER_FORM;

shown! {
    /// The result of `GET /health`.
    pub(super) struct Health {
        status: &'static str,
        version: &'static str,
        commit: Option<&'static str>,
        forms: Forms,
    }

    /// The numbers of the stored forms, by what they store.
    struct Forms {
        session: usize,
        workspace: usize,
        user: usize,
    }
}

impl Health {
    /// The health of this build. `version` is the product's.
    pub(super) fn of(version: &'static str) -> Self {
        let forms = Forms { session: SESSION_FORM, workspace: WORKSPACE_FORM, user: USER_FORM };
        Self { status: "ok", version, commit: COMMIT, forms }
    }
}
