//! Erasing a user, and voiding a user's credentials (interface §13).

use std::rc::Rc;

use futures_util::future::join;
use serde_json::json;

use super::session_asking::{ask_each, ask_session};
use super::user_host::UserHost;
use crate::catalog::Catalog;
use crate::contract::{ErrorCode, Fault, InvokeResult, Result, SessionId, UserId, shown};
use crate::encoding::timestamp;
use crate::ports::{Database, Platform};
use crate::users::{Done, Revocation, StatusCounts, UserErasure};

/// The sessions that the request to erase a user removes itself. The others erase their rows, and the alarm removes them.
const AT_FIRST: usize = 10;

const SECOND_MS: u64 = 1_000;

shown! {
    /// `GET /users/{User}`
    struct UserView<'a> {
        user: &'a UserId,
        sessions: SessionsView,
        /// Absent where no budget has bounded the user's tokens.
        tokens?: Option<TokensView>,
        /// The agent contexts that bound a user's tokens.
        budgets?: Vec<BudgetView>,
        /// Absent where nothing is revoked.
        tickets_before?: Option<String>,
    }

    struct SessionsView {
        total: u64,
        #[serde(flatten)]
        by_status: StatusCounts,
        /// Sessions that are being erased; no other count has them.
        erasing: u64,
    }

    /// The tokens that count as spent, those of leases among them.
    struct TokensView {
        today: u64,
        this_month: u64,
        /// The number of sessions that have a lease, and the tokens of the leases.
        leases: usize,
        leased: u64,
    }

    struct BudgetView {
        agent_context_id: String,
        user_tokens_per_day?: Option<u64>,
        user_tokens_per_month?: Option<u64>,
    }

    /// `POST /users/{User}/revoke`
    struct RevocationView<'a> {
        user: &'a UserId,
        tickets_before: String,
        /// The number of sessions that know.
        sessions: usize,
    }
}

impl<P: Platform, D: Database> UserHost<P, D> {
    /// The user's sessions by their status.
    pub(super) async fn view(
        &self,
        catalog: Option<Rc<Catalog>>,
        user: &UserId,
    ) -> Result<InvokeResult> {
        self.ask_registered().await?;
        let by_status = self.index.count_by_status()?;
        let (erasing, _) = self.index.count_leaving()?;
        let total = by_status.total();
        let known = self.index.user()?.filter(|_| total + erasing > 0).ok_or_else(no_user)?;
        let view = UserView {
            user,
            sessions: SessionsView { total, by_status, erasing },
            tokens: known.spent.has_tokens().then(|| {
                let now = self.platform.now_ms();
                let ((today, this_month), (leases, leased)) =
                    (known.spent.tokens(now), known.spent.leased(now));
                TokensView { today, this_month, leases, leased }
            }),
            budgets: catalog.map(|catalog| budgets(&catalog)).unwrap_or_default(),
            tickets_before: (known.credentials_valid_from > 0)
                .then(|| timestamp(known.credentials_valid_from)),
        };
        Ok(InvokeResult::success(&view))
    }

    /// Revokes the user's credentials that were issued before now. Completes when every session knows.
    pub(super) async fn revoke(&self, user: &UserId) -> Result<InvokeResult> {
        let platform = self.platform.as_ref();
        let credentials_valid_from = next_second(platform.now_ms());
        self.index.bar_earlier(0, credentials_valid_from, platform.now_ms(), None)?;
        let sessions = self.index.all()?;
        let told = Revocation { credentials_valid_from };
        let tell =
            async |id: &SessionId| -> Result<Done> { ask_session(platform, id, &told).await };
        let told = ask_each(&sessions, tell).await;
        self.end_removals().await?;
        let reached = told.iter().filter(|told| told.is_ok()).count();
        platform.log(json!({
            "event": "user_revoked", "level": if reached < sessions.len() { "error" } else { "info" },
            "sessions": reached, "unreached": sessions.len() - reached,
        }));
        if reached < sessions.len() {
            let message = "The credentials are revoked for new sessions, but some sessions of the user did not answer. Send the same request again.";
            return Err(Fault::internal(message));
        }
        self.wait_until(credentials_valid_from).await;
        let tickets_before = timestamp(credentials_valid_from);
        let view = RevocationView { user, tickets_before, sessions: reached };
        Ok(InvokeResult::success(&view))
    }

    /// Erases all sessions of the user, and gives a receipt. The same request goes on with an erasure that is under way.
    pub(super) async fn erase_user(&self, user: &UserId, received_at: u64) -> Result<InvokeResult> {
        let erasure = self.index.user()?.and_then(|user| user.erasure);
        let is_under_way = erasure.as_ref().is_some_and(|known| known.completed_at.is_none());
        let now = self.platform.now_ms();
        let credentials_valid_from = next_second(now);
        // Sessions may have begun since an erasure was complete.
        if !is_under_way && !self.index.all()?.is_empty() {
            self.removals.note(false);
            self.set_for_pass()?;
            let begun = UserErasure { started_at: now, ..UserErasure::default() };
            self.index.bar_earlier(received_at, credentials_valid_from, now, Some(&begun))?;
        } else if erasure.is_none() {
            // A submission or a ticket of the user may be on its way.
            self.index.bar_earlier(received_at, credentials_valid_from, now, None)?;
            self.end_removals().await?;
            self.wait_until(credentials_valid_from).await;
            return Err(no_user());
        }
        let leaving = self.next_to_remove(u32::MAX)?;
        let (first, others) = leaving.split_at(leaving.len().min(AT_FIRST));
        let removing = self.remove_each(first, received_at);
        join(removing, self.erase_rows(others, received_at)).await.1?;
        let left = self.index.count_leaving()?;
        if left.0 == 0 {
            self.complete_erasure()?;
        }
        let known = self.index.user()?.ok_or_else(no_user)?;
        let erasure = known.erasure.ok_or_else(no_user)?;
        let result = {
            let underway = self.underway.borrow();
            let receipt = erasure.receipt(
                user.as_str(),
                left,
                underway.values(),
                known.credentials_valid_from,
            );
            InvokeResult::success(&receipt)
        };
        self.wait_until(known.credentials_valid_from).await;
        // The last receipt is given. Where the request was cut while it waited, the receipt is there for the next one.
        self.forget_receipt(&erasure)?;
        self.end_removals().await?;
        Ok(result)
    }

    /// Forgets the receipt of an erasure that is complete, unless another erasure has begun since.
    fn forget_receipt(&self, given: &UserErasure) -> Result<()> {
        let stored = self.index.user()?.and_then(|user| user.erasure);
        let is_same = stored.is_some_and(|stored| stored.completed_at == given.completed_at);
        if given.completed_at.is_some() && is_same {
            self.index.save_erasure(None)?;
        }
        Ok(())
    }

    /// Notes that an erasure of the user is complete, where it is.
    pub(super) fn complete_erasure(&self) -> Result<()> {
        let erasure = self.index.user()?.and_then(|user| user.erasure);
        let Some(mut erasure) = erasure.filter(|erasure| erasure.completed_at.is_none()) else {
            return Ok(());
        };
        erasure.completed_at = Some(self.platform.now_ms());
        self.index.save_erasure(Some(&erasure))?;
        self.platform.log(json!({
            "event": "user_erased", "level": "info", "sessions": erasure.erased,
            "counts": erasure.counts,
        }));
        Ok(())
    }

    /// Waits for the next full second: credentials carry whole seconds, and one that is issued after this response must
    /// count as newer.
    async fn wait_until(&self, at_ms: u64) {
        let wait_ms = at_ms.saturating_sub(self.platform.now_ms());
        if (1..=SECOND_MS).contains(&wait_ms) {
            self.platform.sleep(wait_ms).await;
        }
    }
}

/// The beginning of the next second: a credential of this second may have been issued before now.
fn next_second(now_ms: u64) -> u64 {
    (now_ms / SECOND_MS + 1) * SECOND_MS
}

/// `user_not_found`.
fn no_user() -> Fault {
    Fault::new(ErrorCode::UserNotFound, "The service knows no session of this user.")
}

/// The agent contexts that bound a user's tokens.
fn budgets(catalog: &Catalog) -> Vec<BudgetView> {
    let contexts = catalog.agent_contexts();
    let bounding = contexts.filter_map(|(id, context)| {
        let (user_tokens_per_day, user_tokens_per_month, _) = context.budget.of_user()?;
        let agent_context_id = id.to_owned();
        Some(BudgetView { agent_context_id, user_tokens_per_day, user_tokens_per_month })
    });
    bounding.collect()
}
