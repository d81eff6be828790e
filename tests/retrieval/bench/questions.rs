//! Users' questions and the places of their answers: the file, and a text that the right chunk
//! holds.
//!
//! The questions start from a user's need, not from the texts. A label survives edits as long as
//! its symbol is not renamed, and the bench reports a label that has lost its chunk.

/// A question and its answers, one of which must be found: a file and a text in the right chunk.
/// The empty text means that any chunk of the file will do.
pub(crate) type Question = (&'static str, &'static [(&'static str, &'static str)]);

/// About this project's own `src` and `tests`.
pub(crate) const OWN: &[Question] = &[
    (
        "where is the alarm set that keeps a running turn alive?",
        &[("src/entry/alarm.rs", "fn ensure")],
    ),
    (
        "How long do we wait before calling the model again after a 503?",
        &[("src/reasoner/exchange.rs", "fn wait_ms")],
    ),
    (
        "Which code compares the bearer key of a request with the configured hashes?",
        &[("src/entry/authentication.rs", "fn admit")],
    ),
    (
        "two customers use the same session id, what keeps them apart",
        &[("src/entry/authentication.rs", "fn object_name")],
    ),
    (
        "where do we check that tool results answer exactly the pending calls?",
        &[("src/entry/tool_results.rs", "fn match_results")],
    ),
    (
        "What happens when a second user turn arrives while one is still in progress?",
        &[
            ("src/entry/admission.rs", "fn refuse_when_live"),
            ("src/contract/error_code.rs", "TurnInProgress"),
            ("tests/e2e/turns.test.mjs", "a second turn while one runs is refused"),
        ],
    ),
    ("parsing of server-sent events from the byte stream", &[("src/responses_api/sse.rs", "")]),
    (
        "How are binary artifacts recognised, so that images and PDFs are treated differently from text?",
        &[("src/composition/artifact_content.rs", "fn classify")],
    ),
    (
        "which tables does a session have in SQLite",
        &[("src/persistence/schema.rs", "CREATE TABLE turns")],
    ),
    ("How is a value that is too long for one row stored?", &[("src/persistence/texts.rs", "")]),
    ("function that decides which URL belongs to which endpoint", &[("src/entry/route.rs", "")]),
    (
        "where is the body size limit enforced while reading the request",
        &[("src/entry/request_body.rs", "")],
    ),
    (
        "I get fatal: `transactionSync` is not defined. Who calls it?",
        &[("src/platform/object_storage.rs", "transaction_sync")],
    ),
    (
        "merge of client tools and server tools when both have the same name",
        &[("src/composition/tool_list.rs", "fn merge_tools")],
    ),
    (
        "Where is the list of modes that agent_list_modes returns put together?",
        &[("src/server_tools/mode_tools.rs", "fn list_modes")],
    ),
    (
        "replacing ${SECRET_NAME} placeholders in header values",
        &[("src/catalog/secret_template.rs", "")],
    ),
    ("how does the catalog check refuse a bad tool URL", &[("src/catalog/http_endpoint.rs", "")]),
    (
        "does an HTTP tool follow redirects to another host? security review",
        &[("src/outbound/json_service.rs", "fn same_host")],
    ),
    (
        "Which environment variables are there and what are their default values?",
        &[("src/ports/deployment.rs", "")],
    ),
    (
        "resume a stream with Last-Event-ID",
        &[
            ("src/reasoner/text_cursor.rs", "pub struct Position"),
            ("src/reasoner/text_cursor.rs", "struct TextCursor"),
            ("src/entry/session_endpoints.rs", "Last-Event-ID"),
        ],
    ),
    (
        "taking text back that was already streamed to the client",
        &[("src/reasoner/live_text.rs", "fn discard")],
    ),
    (
        "misspelled field name suggestion",
        &[
            ("src/json/nearest_name.rs", ""),
            ("src/contract/validation/reader.rs", "fn report_unknown"),
        ],
    ),
    (
        "How do you detect that the same request was sent twice?",
        &[("src/contract/fingerprint.rs", ""), ("src/entry/admission.rs", "fn repeat")],
    ),
    ("validation of RagScope conditions", &[("src/contract/validation/rag_scope.rs", "")]),
    (
        "Which path spellings are refused, e.g. C:\\ or ..?",
        &[("src/contract/validation/artifact_path.rs", "")],
    ),
    (
        "what is the http status of turn_conflict and can the client retry",
        &[("src/contract/error_code.rs", "TurnConflict")],
    ),
    (
        "fence longer than the backticks in the text",
        &[("src/composition/context_block.rs", "fn context_block")],
    ),
    (
        "why is reasoning dropped when the conversation is replayed without store",
        &[
            ("src/responses_api/replay_item.rs", "fn reasoning"),
            ("src/responses_api/replay_item.rs", "fn for_replay"),
        ],
    ),
    (
        "time out when the model service stops sending anything",
        &[
            ("src/llm_call/reading.rs", "async fn silence"),
            ("tests/llm_call/main.rs", "fn a_service_that_is_silent"),
        ],
    ),
    (
        "Where do token counts of several model calls get added up?",
        &[("src/reasoner/model_step.rs", "fn usage")],
    ),
    (
        "cancel a turn: what becomes of calls that are still open",
        &[("src/reasoner/settlement.rs", "fn settle_open_calls")],
    ),
    (
        "a model that keeps calling tools for ever: where does the loop give up?",
        &[("src/reasoner/model_step.rs", "IterationLimitExceeded")],
    ),
    (
        "the welcome message of a mode is put before the answer",
        &[("src/reasoner/model_step.rs", "fn final_text")],
    ),
    ("test that kills the instance at every durable step", &[("tests/turns/crash.rs", "")]),
    (
        "how many rows may a plain follow-up write? is there a test",
        &[("tests/turns/rows.rs", "fn a_plain_follow_up")],
    ),
    (
        "fake model service for the end-to-end tests",
        &[("tests/e2e/scripted_model.mjs", ""), ("tests/model_service/http_service.mjs", "")],
    ),
    (
        "check that only one folder depends on the workers runtime",
        &[("tests/architecture/folders.rs", "fn only_the_platform_names")],
    ),
    (
        "comment lines sent during silence so proxies keep the connection open",
        &[
            ("src/entry/event_stream.rs", ""),
            ("tests/e2e/streaming.test.mjs", "silence is filled with comments"),
        ],
    ),
    (
        "JSON nested too deeply",
        &[
            ("src/json/well_formed.rs", "fn too_deep_at"),
            ("src/contract/validation/body.rs", "fn object_text"),
        ],
    ),
    (
        "which previous_response_id errors make us start a new chain with the whole conversation",
        &[
            ("src/llm_call/failure.rs", "fn lost_chain"),
            ("src/responses_api/error_body.rs", "pub fn concerns_previous_response"),
        ],
    ),
];

/// About the C# sources in `billing`.
pub(crate) const BILLING: &[Question] = &[
    (
        "when does an invoice get its number?",
        &[("billing/Managers/InvoiceManager.cs", "IssueAsync(Guid id)")],
    ),
    (
        "can a paid invoice be cancelled?",
        &[("billing/Managers/InvoiceManager.cs", "VoidAsync(Guid id")],
    ),
    (
        "how do we avoid charging a credit card twice",
        &[("billing/Managers/PaymentManager.cs", "ChargeAsync")],
    ),
    (
        "partial refunds: who makes sure we never give back more than was paid",
        &[("billing/Managers/PaymentManager.cs", "RefundAsync")],
    ),
    (
        "trial period of a new subscription",
        &[("billing/Managers/SubscriptionManager.cs", "StartAsync")],
    ),
    (
        "What happens when a customer moves to a cheaper plan in the middle of the month?",
        &[("billing/Managers/SubscriptionManager.cs", "ChangePlanAsync")],
    ),
    ("rounding of half cents, banker's rounding", &[("billing/Models/Money.cs", "Rounded()")]),
    (
        "adding amounts in euro and dollar",
        &[("billing/Models/Money.cs", "CurrencyMismatchException")],
    ),
    (
        "VAT for companies in other EU countries",
        &[("billing/Models/Customer.cs", "IsReverseCharge")],
    ),
    (
        "signature verification of incoming webhooks, replay attacks",
        &[("billing/Api/WebhookController.cs", "IsAuthentic(string")],
    ),
    ("download an invoice as pdf", &[("billing/Api/InvoiceController.cs", "Download(Guid id)")]),
    (
        "why is tax not rounded per line item",
        &[("billing/Rules/TaxCalculator.cs", "Totals(Invoice invoice")],
    ),
    (
        "who calculates the price difference for the remaining days after an upgrade",
        &[("billing/Rules/ProrationRule.cs", "Difference(Subscription")],
    ),
    ("volume discount thresholds", &[("billing/Rules/DiscountRule.cs", "VolumeScale")]),
    ("is a coupon code still valid", &[("billing/Rules/DiscountRule.cs", "IsRedeemable(Coupon")]),
    (
        "after how many days is a customer who does not pay suspended?",
        &[("billing/Jobs/DunningJob.cs", "SuspendAfterDays")],
    ),
    (
        "two servers run the hourly renewal at the same time",
        &[("billing/Jobs/RenewalJob.cs", "TryAcquireAsync")],
    ),
    (
        "optimistic concurrency when an invoice is saved",
        &[("billing/Storage/SqlInvoiceRepository.cs", "UpdateAsync(Invoice invoice)")],
    ),
    (
        "pagination of the invoice list in the database",
        &[("billing/Storage/SqlInvoiceRepository.cs", "PageAsync")],
    ),
    (
        "how are gapless numbers like INV-2024-000123 generated",
        &[("billing/Storage/NumberSequence.cs", "NextAsync")],
    ),
    (
        "exponential backoff when the payment provider answers 5xx",
        &[("billing/Gateways/HttpPaymentGateway.cs", "PostAsync<T>")],
    ),
    ("payment_gateway capture", &[("billing/Gateways/HttpPaymentGateway.cs", "CaptureAsync")]),
];

/// About the Markdown pages in `handbook`.
pub(crate) const HANDBOOK: &[Question] = &[
    ("My laptop was stolen, whom do I tell?", &[("handbook/security.md", "## Laptops")]),
    (
        "How many holidays can I carry over into next year?",
        &[("handbook/time-off.md", "## Vacation")],
    ),
    (
        "do I need a doctor's note after two days of illness",
        &[("handbook/time-off.md", "## Sick leave")],
    ),
    ("paternity leave for a father", &[("handbook/time-off.md", "## Parental leave")]),
    ("can I fly business class to Tokyo?", &[("handbook/expenses.md", "## What we pay")]),
    ("how do I get money back for a taxi receipt", &[("handbook/expenses.md", "## How to claim")]),
    ("budget for attending a conference", &[("handbook/expenses.md", "## Learning")]),
    ("home office chair and desk reimbursement", &[("handbook/expenses.md", "## Equipment")]),
    (
        "Can we deploy to production on Friday evening?",
        &[("handbook/deployments.md", "## To production")],
    ),
    (
        "the new release is broken, how do I go back to the old version",
        &[("handbook/deployments.md", "## Rolling back")],
    ),
    ("are there releases at Christmas?", &[("handbook/deployments.md", "## Freeze")]),
    ("old feature flags that nobody removed", &[("handbook/deployments.md", "## Feature flags")]),
    ("what counts as SEV1", &[("handbook/on-call.md", "## Severity")]),
    (
        "how often must the status page be updated in an outage",
        &[("handbook/on-call.md", "## During an incident")],
    ),
    ("changing shifts with a colleague", &[("handbook/on-call.md", "## Handover")]),
    ("how many approvals does a migration need", &[("handbook/code-review.md", "## Reviewing")]),
    (
        "the main branch does not build any more, what now",
        &[("handbook/code-review.md", "## Merging")],
    ),
    ("bonus for recommending a friend for a job", &[("handbook/hiring.md", "## Referrals")]),
    ("An API key was committed by accident", &[("handbook/security.md", "## Secrets")]),
    (
        "can I copy production data to my machine to debug a customer's problem",
        &[("handbook/security.md", "## Customer data")],
    ),
    (
        "who owns the actions of a post mortem and by when are they done",
        &[("handbook/incident-reviews.md", "## Follow-up")],
    ),
    ("first day of a new colleague", &[("handbook/hiring.md", "## Starting")]),
];
