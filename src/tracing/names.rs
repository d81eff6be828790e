//! The names of spans' attributes: OpenTelemetry's semantic conventions for generative AI and MCP, and the product's
//! own. All of `gen_ai` and `mcp` is in development there, so a name that changes is changed here and nowhere else.

/// Where the names come from.
pub const SOURCE: &str = "github.com/open-telemetry/semantic-conventions-genai";

/// The release that they were taken from.
pub const VERSION: &str = "v0.1.0";

/// Declares the names, and lists all of them.
macro_rules! names {
    ($($name:ident = $text:literal;)+) => {
        $(pub(super) const $name: &str = $text;)+

        /// Every name of an attribute.
        pub const ALL: &[&str] = &[$($text),+];
    };
}

names! {
    OPERATION = "gen_ai.operation.name";
    AGENT = "gen_ai.agent.name";
    CONVERSATION = "gen_ai.conversation.id";
    COMPACTED = "gen_ai.conversation.compacted";
    DATA_SOURCE = "gen_ai.data_source.id";
    OUTPUT_TYPE = "gen_ai.output.type";
    PROVIDER = "gen_ai.provider.name";
    REQUEST_MODEL = "gen_ai.request.model";
    STREAM = "gen_ai.request.stream";
    REASONING_LEVEL = "gen_ai.request.reasoning.level";
    MAX_TOKENS = "gen_ai.request.max_tokens";
    PREVIOUS_RESPONSE = "gen_ai.request.previous_response.id";
    RESPONSE = "gen_ai.response.id";
    RESPONSE_MODEL = "gen_ai.response.model";
    FINISH_REASONS = "gen_ai.response.finish_reasons";
    FIRST_CHUNK = "gen_ai.response.time_to_first_chunk";
    TOP_K = "gen_ai.retrieval.top_k";
    TOOL = "gen_ai.tool.name";
    TOOL_CALL = "gen_ai.tool.call.id";
    TOOL_TYPE = "gen_ai.tool.type";
    INPUT_TOKENS = "gen_ai.usage.input_tokens";
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens";
    CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens";
    REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens";
    MCP_METHOD = "mcp.method.name";
    MCP_VERSION = "mcp.protocol.version";
    RPC_STATUS = "rpc.response.status_code";
    API_TYPE = "openai.api.type";
    SERVER = "server.address";
    PORT = "server.port";
    ERROR = "error.type";
    PRODUCT_VERSION = "aptix.version";
    TENANT = "aptix.tenant";
    CATALOG = "aptix.catalog";
    STATUS = "aptix.turn.status";
    ATTEMPT = "aptix.turn.attempt";
    MODEL_CALLS = "aptix.model_calls";
    TOOL_CALLS = "aptix.tool_calls";
    WAITED = "aptix.waited_ms";
    CALLER_TRACE = "aptix.caller.trace_id";
    CALLER_SPAN = "aptix.caller.span_id";
    CHUNKS = "aptix.chunks";
    ATTEMPTS = "aptix.attempts";
    RESUMED = "aptix.resumed";
    UPSTREAM_REQUEST = "aptix.upstream_request_id";
    PURPOSE = "aptix.purpose";
    FALLBACK_FROM = "aptix.fallback_from";
    RESULT_BYTES = "aptix.result_bytes";
    APPROVAL = "aptix.approval";
}
