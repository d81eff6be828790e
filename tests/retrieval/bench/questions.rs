//! Users' questions and the places of their answers: the file, and a text that the right chunk
//! holds.
//!
//! The questions start from a user's need, not from the texts. A place is an answer when whoever reads
//! that chunk alone knows what was asked: for "where" the code itself, for "what" and "how" also the
//! promise and a test that says so. Places are chosen by reading, never from what a search returns. This
//! project's texts move, so a test of `make test` finds each label that has lost its chunk.

/// A question and its answers, one of which must be found: a file and a text in the right chunk.
/// The empty text means that any chunk of the file will do.
pub(crate) type Question = (&'static str, &'static [(&'static str, &'static str)]);

/// About this project's own `src` and `tests`.
pub(crate) const OWN: &[Question] = &[
    (
        "where is the alarm set that keeps a running turn alive?",
        &[
            ("src/object/alarm.rs", "fn set_by"),
            ("src/entry/session/admission.rs", "fn ensure_alarm"),
            ("src/entry/session/session_host.rs", "fn alarm_work"),
        ],
    ),
    (
        "How long do we wait before calling the model again after a 503?",
        &[
            ("src/reasoner/model_call/patience.rs", "fn wait_ms"),
            ("src/reasoner/model_call/patience.rs", "fn what_can_pass_is_tried_twice_again"),
        ],
    ),
    (
        "Which code compares the bearer key of a request with the configured hashes?",
        &[("src/entry/door/keyring.rs", "pub fn find")],
    ),
    (
        "two customers use the same session id, what keeps them apart",
        &[
            ("src/ports/object.rs", "pub fn object_name"),
            (
                "src/entry/session/session_host.rs",
                "one object for each session of a tenant or of a user",
            ),
        ],
    ),
    (
        "where do we check that tool results answer exactly the pending calls?",
        &[("src/reasoner/tool_results.rs", "fn match_results")],
    ),
    (
        "What happens when a second user turn arrives while one is still in progress?",
        &[
            ("src/entry/session/admission.rs", "fn refuse_when_live"),
            ("src/contract/error_code.rs", "TurnInProgress"),
            ("src/contract/interface/02-execute.md", "One turn per session is live"),
            ("tests/turns/session.rs", "fn a_busy_session_names_its_live_turn"),
            ("tests/e2e/turns.test.mjs", "a second turn while one runs is refused"),
        ],
    ),
    ("parsing of server-sent events from the byte stream", &[("src/encoding/sse.rs", "")]),
    (
        "How are binary artifacts recognised, so that images and PDFs are treated differently from text?",
        &[
            ("src/composition/artifact_content.rs", "fn classify"),
            ("src/composition/artifact_content.rs", "fn media_type"),
        ],
    ),
    (
        "which tables does a session have in SQLite",
        &[("src/persistence/schema.rs", "CREATE TABLE ")],
    ),
    (
        "How is a value that is too long for one row stored?",
        &[
            ("src/persistence/texts.rs", "The object's storage limits a row to 2 MB"),
            ("src/persistence/texts.rs", "fn keep"),
            ("src/persistence/texts.rs", "fn to_column"),
            ("src/persistence/schema.rs", "far below the limit of a row"),
        ],
    ),
    (
        "function that decides which URL belongs to which endpoint",
        &[("src/entry/endpoints.rs", "fn find(method")],
    ),
    (
        "where is the body size limit enforced while reading the request",
        &[("src/entry/door/request_body.rs", "fn read_body")],
    ),
    (
        "I get fatal: `transactionSync` is not defined. Who calls it?",
        &[("src/platform/bindings/storage.js", "transactionSync(writes)")],
    ),
    (
        "merge of client tools and server tools when both have the same name",
        &[
            ("src/composition/tool_list.rs", "fn merge_tools"),
            (
                "src/contract/interface/04-model-service.md",
                "a server tool wins over a client tool of the same name",
            ),
            ("tests/composition/tools.rs", "fn a_server_tool_takes_the_place_of_a_client_tool"),
            ("tests/turns/session.rs", "server_tools_replace_those_of_their_names"),
            ("tests/e2e/server_tools.test.mjs", "a server tool wins over a client tool"),
        ],
    ),
    (
        "Where is the list of modes that agent_list_modes returns put together?",
        &[("src/server_tools/mode_tools.rs", "fn list_modes")],
    ),
    (
        "replacing ${SECRET_NAME} placeholders in header values",
        &[
            ("src/catalog/secret_template.rs", "Header values that name secrets"),
            ("src/catalog/secret_template.rs", "pub fn expand"),
            ("src/catalog/secret_template.rs", "fn every_placeholder_is_replaced_once"),
        ],
    ),
    (
        "how does the catalog check refuse a bad tool URL",
        &[
            ("src/catalog/http_endpoint.rs", "fn url_problem"),
            ("src/catalog/http_endpoint.rs", "fn any_other_text_is_refused_with_its_remedy"),
            ("tests/catalog/wrong_documents.rs", "/ServerTools/0/Http/Url\", json!"),
        ],
    ),
    (
        "does an HTTP tool follow redirects to another host? security review",
        &[
            ("src/outbound/service.rs", "to the same host only"),
            ("src/outbound/service.rs", "another host, which is not followed"),
            ("src/outbound/service.rs", "ok_or(ServiceFailure::RedirectedAway)"),
            ("src/outbound/service.rs", "fn same_host"),
            ("src/outbound/service.rs", "fn a_redirect_is_followed_on_the_same_host_only"),
            (
                "src/contract/interface/06-configuration.md",
                "Redirects are followed to the same host only",
            ),
            ("tests/server_tools/http_tool.rs", "fn a_redirect_to_elsewhere"),
            ("tests/e2e/server_tools.test.mjs", "a redirect to another host is refused"),
        ],
    ),
    (
        "Which environment variables are there and what are their default values?",
        &[
            ("src/ports/deployment.rs", "base_url = \"OPENAI_BASE_URL\""),
            ("src/ports/deployment.rs", "max_iterations: u32 = \"MAX_ITERATIONS\""),
            ("src/contract/interface/06-configuration.md", "| `OPENAI_BASE_URL` |"),
            ("src/contract/interface/06-configuration.md", "| `MAX_ITERATIONS` |"),
        ],
    ),
    (
        "resume a stream with Last-Event-ID",
        &[
            ("src/live_text/text_cursor.rs", "pub struct Position"),
            ("src/live_text/text_cursor.rs", "struct TextCursor"),
            ("src/entry/session/session_endpoints.rs", "Last-Event-ID"),
            ("src/entry/session/submission.rs", "fn cursor"),
            ("src/contract/interface/02-execute.md", "Resume: repeat the POST"),
            ("tests/e2e/streaming.test.mjs", "a finished stream is resumed from any position"),
            (
                "tests/e2e/streaming.test.mjs",
                "a running turn is joined from where the watcher left",
            ),
        ],
    ),
    (
        "taking text back that was already streamed to the client",
        &[
            ("src/live_text/submission_text.rs", "fn discard"),
            ("src/reasoner/model_call/call_for_output.rs", "running.live_text.discard"),
            ("src/live_text/text_cursor.rs", "event_frames::discard(held.segment)"),
            ("src/live_text/text_cursor.rs", "fn text_that_was_taken_back_is_taken_from_those"),
            ("src/contract/event_frames.rs", "pub fn discard"),
            ("src/contract/interface/02-execute.md", "its segment is discarded"),
            ("tests/e2e/streaming.test.mjs", "text before a server tool call is taken back"),
        ],
    ),
    (
        "misspelled field name suggestion",
        &[
            ("src/json/nearest_name.rs", ""),
            ("src/contract/validation/reader.rs", "fn report_unknown"),
            (
                "src/contract/interface/02-execute.md",
                "with the nearest known name in `Details.DidYouMean`",
            ),
        ],
    ),
    (
        "How do you detect that the same request was sent twice?",
        &[
            ("src/contract/fingerprint.rs", "separates a repetition from"),
            ("src/contract/fingerprint.rs", "pub fn fingerprint"),
            ("src/entry/session/admission.rs", "fn repeat"),
            ("src/persistence/session_store.rs", "fn submission"),
            ("src/contract/interface/02-execute.md", "Repeating a request (same ids, same content"),
            ("tests/contract/fingerprints.rs", "fn a_repetition_has_the_same_fingerprint"),
        ],
    ),
    (
        "validation of RagScope conditions",
        &[
            ("src/contract/validation/rag_scope.rs", ""),
            ("src/contract/interface/02-execute.md", "`RagScope`: at most 32 conditions"),
            ("tests/contract/faults.rs", "invalid_field /RagScope/Conditions/0/Operator"),
        ],
    ),
    (
        "Which path spellings are refused, e.g. C:\\ or ..?",
        &[
            ("src/contract/relative_path.rs", "pub fn relative_path_problem"),
            ("src/contract/relative_path.rs", "fn an_absolute_path_is_refused_in_every_spelling"),
            ("src/contract/interface/02-execute.md", "No absolute path in any spelling"),
            ("tests/e2e/requests.test.mjs", "absolute and escaping paths are refused"),
        ],
    ),
    (
        "what is the http status of turn_conflict and can the client retry",
        &[("src/contract/error_code.rs", "TurnConflict")],
    ),
    (
        "fence longer than the backticks in the text",
        &[
            ("src/composition/context_block.rs", "fn context_block"),
            ("src/composition/context_block.rs", "fn a_fence_is_longer_than_any_run"),
            (
                "src/contract/interface/04-model-service.md",
                "The fence is longer than any run of backticks inside",
            ),
            ("tests/composition/messages.rs", "no_text_can_close_its_fence"),
        ],
    ),
    (
        "why is reasoning dropped when the conversation is replayed without store",
        &[
            ("src/responses_api/replay_item.rs", "pub fn for_replay"),
            ("src/responses_api/replay_item.rs", "fn reasoning_goes_back_with_the_items_behind_it"),
        ],
    ),
    (
        "time out when the model service stops sending anything",
        &[
            ("src/llm_call/reading.rs", "async fn silence"),
            ("src/llm_call/mod.rs", "Cause::Silent"),
            ("tests/llm_call/failures.rs", "fn a_service_that_is_silent"),
            ("tests/e2e/upstream_faults.test.mjs", "silence before any answer"),
            ("tests/e2e/upstream_faults.test.mjs", "a silent call is given up"),
        ],
    ),
    (
        "Where do token counts of several model calls get added up?",
        &[
            ("src/reasoner/model_call/transcript.rs", "saturating_add(usage)"),
            ("src/encoding/usage.rs", "fn saturating_add"),
        ],
    ),
    (
        "cancel a turn: what becomes of calls that are still open",
        &[
            ("src/reasoner/turn_ending.rs", "fn end_turn"),
            ("src/reasoner/settlement.rs", "fn settle_open_calls"),
            ("src/composition/tool_output.rs", "Abandonment::Cancelled =>"),
            ("tests/turns/life_cycle.rs", "fn a_cancelled_turn_takes_no_results"),
        ],
    ),
    (
        "a model that keeps calling tools for ever: where does the loop give up?",
        &[("src/reasoner/model_step.rs", "IterationLimitExceeded")],
    ),
    (
        "the welcome message of a mode is put before the answer",
        &[
            ("src/reasoner/model_step.rs", "fn final_text"),
            ("src/reasoner/model_call/live_segment.rs", "self.welcome.filter"),
            ("src/contract/interface/05-modes-and-tools.md", "The new mode's `WelcomeMessage`"),
            ("tests/e2e/modes.test.mjs", "the welcome message is the head of the segment"),
        ],
    ),
    ("test that kills the instance at every durable step", &[("tests/turns/crash.rs", "")]),
    (
        "how many rows may a plain follow-up write? is there a test",
        &[
            ("tests/turns/rows.rs", "fn a_plain_follow_up"),
            ("tests/e2e/storage_cost.test.mjs", "a plain follow-up turn reads 4 rows and writes 5"),
        ],
    ),
    (
        "fake model service for the end-to-end tests",
        &[
            ("tests/e2e/scripted_model.mjs", ""),
            ("tests/fakes/model_service/http_service.mjs", "that the model services share"),
        ],
    ),
    (
        "check that only one folder depends on the workers runtime",
        &[("tests/architecture/crates.rs", "fn only_the_platform_names")],
    ),
    (
        "comment lines sent during silence so proxies keep the connection open",
        &[
            ("src/live_text/event_stream.rs", "keep_alive_ms"),
            (
                "src/contract/interface/02-execute.md",
                "A comment line after `KEEP_ALIVE_MS` of silence",
            ),
            ("tests/e2e/streaming.test.mjs", "silence is filled with comments"),
        ],
    ),
    (
        "JSON nested too deeply",
        &[
            ("src/json/well_formed.rs", "TooDeep"),
            ("src/json/well_formed.rs", "fn too_deep_at"),
            ("src/contract/validation/body.rs", "fn object_text"),
            ("src/contract/validation/body.rs", "fn nesting_is_accepted_to_the_limit"),
        ],
    ),
    (
        "which previous_response_id errors make us start a new chain with the whole conversation",
        &[
            ("src/llm_call/failure.rs", "pub fn lost_chain"),
            ("src/responses_api/error_body.rs", "pub fn concerns_previous_response"),
            (
                "src/responses_api/error_body.rs",
                "fn a_lost_or_unsupported_previous_response_is_told",
            ),
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
