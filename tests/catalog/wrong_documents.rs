//! Documents with one mistake each, and all faults that the checker must report for it.

use aptix_edge::catalog::CatalogFault;
use serde_json::{Value, json};

use super::documents::{with, without};

/// A wrong document, its faults, and whether the schema can detect the mistake.
pub(crate) struct Wrong {
    pub(crate) document: Value,
    pub(crate) faults: Vec<CatalogFault>,
    pub(crate) seen_by_schema: bool,
}

impl Wrong {
    /// For a change whose faults are reported elsewhere in the document.
    fn with_faults(self, faults: Vec<CatalogFault>) -> Self {
        Self { faults, ..self }
    }
}

fn shape(document: Value, path: &str, message: &str) -> Wrong {
    Wrong { document, faults: vec![fault(path, message)], seen_by_schema: true }
}

fn meaning(document: Value, path: &str, message: &str) -> Wrong {
    Wrong { document, faults: vec![fault(path, message)], seen_by_schema: false }
}

pub(crate) fn all() -> Vec<Wrong> {
    let agent = "/AgentContexts/default";
    let conversation = "/ConversationContexts/default";
    let at = |base: &str, member: &str| format!("{base}/{member}");
    let embeddings = "/AgentContexts/index/Retrieval/Index/Embeddings";
    let retrieval = "must be {\"Index\": {}}, {\"Http\": {…}} or \"None\"";
    let context_id = "the id must be 1 to 128 of A-Z a-z 0-9 . _ : -";
    let tool_name = "must be 1 to 64 of A-Z a-z 0-9 _ -";
    let key = "must be 1 to 64 of A-Z a-z 0-9 _ . -";
    let display_name = "must be one line of 1 to 128 characters, not blank";
    let model = "must be a model's name: 1 to 256 visible ASCII characters, no spaces";
    let timeout = "must be an integer from 1 to 900000";
    let header_value = "must be at most 8192 visible ASCII characters, spaces and tabs";
    let too_long = |most: usize| format!("is {} bytes long; the most is {most}", most + 1);
    let fallbacks = "must name one to three agent contexts; leave it out for none";
    let too_many = "holds 128 tools; the most is 127";
    let own_secret = |name: &str| {
        format!("the secret {name} is the product's own and goes to no service; name another one")
    };
    let model_key = "the secret OPENAI_API_KEY goes to a model service (by ApiKeySecret or Headers) and to no other one; give this one a secret of its own";
    let no_threshold = "\"By\": \"Service\" needs a \"Threshold\", the tokens of input from which the model service compacts; add it";
    let threshold = "must be an integer from 1000 to 100000000";
    let tokens = "must be an integer from 1 to 4294967295";
    let no_placeholder = "must hold no placeholder: secrets are filled into Headers only";
    let no_items = "an array schema needs \"items\", the schema of its elements";
    let at_the_root =
        "must not stand at the root of a tool's schema; describe the alternatives in a property";
    let long = |most: usize| json!("p".repeat(most + 1));
    let replaced =
        |path: &str, value: Value, message: &str| shape(with(path, value), path, message);
    let hidden =
        |path: &str, value: Value, message: &str| meaning(with(path, value), path, message);
    let missing = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        shape(without(path), path, &format!("the member {name:?} is missing; add it"))
    };
    let strict = |pointer: &str, value: Value, path: &str, message: &str| {
        let pointer = format!("{conversation}/Tools/0/parameters{pointer}");
        meaning(with(&pointer, value), &format!("{conversation}/Tools/0/parameters{path}"), message)
    };
    let version = "must be 1 to 64 of A-Z a-z 0-9 . _ : -";
    let mut all = vec![
        replaced("/Version", json!("v".repeat(65)), version),
        replaced("/Version", json!("2026/11"), version),
        missing("/Modes"),
        missing("/Modes/0/Key"),
        missing("/Modes/0/DisplayName"),
        missing("/ServerTools/0/Name").with_faults(vec![
            fault("/Modes/1/Tools/0", "the catalog has no server tool \"lookup\"; declare it or remove it here"),
            fault("/ServerTools/0/Name", "the member \"Name\" is missing; add it"),
        ]),
        missing("/ServerTools/0/Description"),
        missing("/ServerTools/0/Http"),
        missing("/ServerTools/0/Http/Url"),
        missing(&at(conversation, "AgentContextId")),
        missing(&at(conversation, "BootPrompt")),
        missing(&at(conversation, "Tools/0/type")),
        missing(&at(conversation, "Tools/0/name")),
        replaced("/$schema", json!(1), "must be a string, not a number"),
        replaced("/Modes", json!([]), "must hold at least one mode"),
        replaced("/Modes", json!({}), "must be an array, not an object"),
        replaced("/Modes/0", json!(null), "must be an object, not null"),
        replaced("/Modes/0/Key", json!(""), key),
        replaced("/Modes/0/Key", json!("general\n"), key),
        replaced("/Modes/0/Key", json!("k".repeat(65)), key),
        hidden("/Modes/0/Key", json!("ddr"), "").with_faults(vec![
            fault("/Modes/1/Key", "the key \"ddr\" is already taken above"),
        ]),
        replaced("/Modes/0/DisplayName", json!("\u{feff} \u{2003}"), display_name),
        replaced("/Modes/0/DisplayName", json!("a\nb"), display_name),
        replaced("/Modes/0/DisplayName", json!("d".repeat(129)), display_name),
        replaced("/Modes/0/WhenToUse", long(16_384), &too_long(16_384)),
        replaced("/Modes/0/WelcomeMessage", long(16_384), &too_long(16_384)),
        replaced("/Modes/0/Instructions", long(65_536), &too_long(65_536)),
        hidden("/Modes/0/Instructions", json!("é".repeat(32_769)), "is 65538 bytes long; the most is 65536"),
        replaced("/ServerTools/0/Description", long(16_384), &too_long(16_384)),
        replaced(&at(conversation, "Tools/0/description"), long(16_384), &too_long(16_384)),
        replaced("/Modes/0/Tools", json!((0..128).map(|n| format!("t{n}")).collect::<Vec<_>>()), too_many),
        replaced("/Modes/0/Tools", json!("lookup"), "must be an array, not a string"),
        hidden("/Modes/0/Tools", json!(["zzz"]), "").with_faults(vec![fault(
            "/Modes/0/Tools/0",
            "the catalog has no server tool \"zzz\"; declare it or remove it here",
        )]),
        replaced("/Modes/0/Tools", json!(["lookup", "lookup"]), "").with_faults(vec![
            fault("/Modes/0/Tools/1", "the tool \"lookup\" is already taken above"),
        ]),
        replaced("/Modes/0/HostedTools", json!({}), "must be an array, not an object"),
        replaced("/Modes/0/HostedTools", json!(["web_search"]), "").with_faults(vec![
            fault("/Modes/0/HostedTools/0", "must be an object, not a string"),
        ]),
        replaced("/Modes/0/HostedTools", json!([{"type": ""}, {}]), "").with_faults(vec![
            fault("/Modes/0/HostedTools/0", "needs a \"type\", the service's name for the tool"),
            fault("/Modes/0/HostedTools/1", "needs a \"type\", the service's name for the tool"),
        ]),
        replaced("/Modes/0/HostedTools", json!([{"type": "function", "name": "f"}]), "").with_faults(vec![
            fault("/Modes/0/HostedTools/0", "\"function\" is no tool that the service runs by itself: list it in \"Tools\" of a conversation context"),
        ]),
        replaced("/Modes/0/HostedTools", json!([{"type": "shell"}]), "").with_faults(vec![
            fault("/Modes/0/HostedTools/0", "needs a container as its \"environment\": its calls would wait for a client that runs them"),
        ]),
        replaced("/Modes/0/HostedTools", json!([{"type": "mcp", "server_label": "a", "authorization": "sk-1", "require_approval": "never"}]), "").with_faults(vec![
            fault("/Modes/0/HostedTools/0/authorization", "could hold a secret, which sessions would keep and export"),
        ]),
        replaced("/Modes/0/HostedTools", json!([{"type": "mcp", "server_label": "a"}]), "").with_faults(vec![
            fault("/Modes/0/HostedTools/0", "needs \"require_approval\": \"never\", because nobody could approve"),
        ]),
        hidden("/Modes/0/HostedTools", json!([{"type": "web_search"}, {"type": "web_search", "filters": {}}]), "").with_faults(vec![
            fault("/Modes/0/HostedTools/1", "this tool already stands above"),
        ]),
        hidden("/Modes/0/HostedTools", json!([{"type": "x", "y": "p".repeat(65_518)}]), "").with_faults(vec![
            fault("/Modes/0/HostedTools/0", "is 65537 bytes long; the most is 65536"),
        ]),
        replaced("/Modes/0/IsDefault", json!("yes"), "must be true or false, not a string"),
        hidden("/Modes/0/IsDefault", json!(true), "").with_faults(vec![
            fault("/Modes/1/IsDefault", "another mode above is the default already; mark one"),
        ]),
        replaced("/Modes/0/icon", json!("x"), "unknown member \"icon\"; the members here are Key, DisplayName, WhenToUse, WelcomeMessage, Instructions, Tools, HostedTools, ModelParameters, IsDefault"),
        replaced(&at(agent, "base_url"), json!(""), "unknown member \"base_url\"; did you mean \"BaseUrl\"?"),
        replaced("/AgentContexts/a b", json!({}), context_id),
        replaced("/AgentContexts/", json!({}), context_id),
        replaced(&at(agent, "BaseUrl"), json!(null), "must be a string, not null"),
        replaced(&at(agent, "BaseUrl"), json!("https://a.example/v1?x=1"), "must have no query: /responses is appended to it"),
        replaced(&at(agent, "BaseUrl"), json!("https://u:p@a.example"), "must hold no credentials before the host; send them in Headers"),
        replaced(&at(agent, "Model"), json!("gpt 5"), model),
        replaced(&at(agent, "Model"), json!(""), model),
        replaced(&at(agent, "Continuation"), json!("Stored"), "must be \"stored\" or \"replay\""),
        replaced(&at(agent, "Background"), json!("Always"), "\"Background\": \"Always\" needs \"Continuation\": \"stored\": with \"replay\" the service keeps nothing that could be read on; change one of them"),
        replaced(&at(agent, "Background"), json!("always"), "must be \"Never\" or \"Always\""),
        replaced(&at(agent, "ResendTools"), json!(0), "must be true or false, not a number"),
        replaced(&at(agent, "DeleteStored"), json!([]), "must be true or false, not an array"),
        replaced(&at(agent, "OfferHostedTools"), json!("no"), "must be true or false, not a string"),
        replaced(&at(agent, "Fallbacks"), json!("index"), "must be an array, not a string"),
        replaced(&at(agent, "Fallbacks"), json!([]), fallbacks),
        hidden(&at(agent, "Fallbacks"), json!(["inde"]), "").with_faults(vec![
            fault(&at(agent, "Fallbacks/0"), "the catalog has no agent context \"inde\"; did you mean \"index\"?"),
        ]),
        hidden(&at(agent, "Fallbacks"), json!(["default"]), "").with_faults(vec![
            fault(&at(agent, "Fallbacks/0"), "is the agent context itself; name another one"),
        ]),
        replaced(&at(agent, "Fallbacks"), json!(["index", "index"]), "").with_faults(vec![
            fault(&at(agent, "Fallbacks/1"), "the agent context \"index\" is already taken above"),
        ]),
        hidden(&at(agent, "Fallbacks"), json!(["index", "plain"]), "").with_faults(vec![
            fault(&at(agent, "Fallbacks/1"), "the agent context \"plain\" names no \"Model\", which a fall-back needs; name one there"),
        ]),
        replaced(&at(agent, "Headers/X-A"), json!("${API_KEYS}"), &own_secret("API_KEYS")),
        replaced(&at(agent, "Headers/X-A"), json!("${API_KEYS_2}"), &own_secret("API_KEYS_2")),
        replaced(&at(agent, "ApiKeySecret"), json!("TICKET_KEYS"), &own_secret("TICKET_KEYS")),
        hidden(&at(agent, "Headers/Accept"), json!("*/*"), "\"Accept\" is set by the product itself; remove it"),
        hidden(&at(agent, "Headers/Content-Length"), json!("1"), "\"Content-Length\" is set by the connection; remove it"),
        // Whichever stands first in the document.
        hidden("/AgentContexts/plain/Headers", json!({"api-key": "${FIND_KEY}"}), "").with_faults(vec![
            fault(&at(agent, "Retrieval/Http/Headers/X-Key"), &model_key.replace("OPENAI_API_KEY", "FIND_KEY")),
        ]),
        replaced(&at(agent, "Query"), json!("api-version=1"), "must be an object, not a string"),
        replaced(&at(agent, "Query/v"), json!(1), "must be a string, not a number"),
        replaced(&at(agent, "Query/v"), json!("${KEY}"), no_placeholder),
        replaced(&at(agent, "Query/v"), json!("v".repeat(1025)), "must be at most 1024 bytes long"),
        replaced(&at(agent, "Query/"), json!("v"), "the name must be 1 to 128 bytes long"),
        replaced(&at(agent, "PromptCacheKey"), json!("session"), "must be \"Session\" or \"None\""),
        replaced(&at(agent, "ModelParameters"), json!([]), "must be an object, not an array"),
        hidden(&at(agent, "ModelParameters"), json!({"x": "p".repeat(65_529)}), "is 65537 bytes long; the most is 65536"),
        replaced(&at(agent, "ModelParameters"), json!((0..65).map(|n| (n.to_string(), n)).collect::<std::collections::BTreeMap<_, _>>()), "holds 65 parameters; the most is 64"),
        replaced(&at(agent, "ModelParameters/include"), json!("all"), "must be an array, not a string"),
        replaced(&at(agent, "ModelParameters/include"), json!(["a", 1]), "").with_faults(vec![
            fault(&at(agent, "ModelParameters/include/1"), "must be a string, not a number"),
        ]),
        replaced(&at(agent, "ModelParameters/include"), json!(["a", "a"]), "").with_faults(vec![
            fault(&at(agent, "ModelParameters/include/1"), "the name \"a\" is already taken above"),
        ]),
        replaced(&at(agent, "Compaction"), json!("Own"), "must be an object, not a string"),
        replaced(&at(agent, "Compaction/By"), json!("own"), "must be \"Own\" or \"Service\" or \"None\""),
        replaced(&at(agent, "Compaction"), json!({"By": "Service"}), "").with_faults(vec![
            fault(&at(agent, "Compaction/Threshold"), no_threshold),
        ]),
        replaced(&at(agent, "Compaction/Threshold"), json!(999), threshold),
        replaced(&at(agent, "Compaction/Prompt"), json!(" "), "must not be blank"),
        replaced(&at(agent, "Compaction/Prompt"), long(65_536), &too_long(65_536)),
        replaced(&at(agent, "Budget/TurnTokens"), json!(0), tokens),
        replaced(&at(agent, "Budget/SessionTokens"), json!(4_294_967_296_u64), tokens),
        replaced(&at(agent, "Budget/Tokens"), json!(1), "unknown member \"Tokens\"; the members here are TurnTokens, SessionTokens, UserTokensPerDay, UserTokensPerMonth, Lease"),
        replaced(&at(agent, "MaxIterations"), json!(1001), "must be an integer from 1 to 1000"),
        replaced(&at(agent, "RetentionDays"), json!(0), "must be an integer from 1 to 36500"),
        replaced(&at(agent, "Retrieval"), json!("none"), retrieval),
        replaced(&at(agent, "Retrieval"), json!({}), retrieval),
        replaced(&at(agent, "Retrieval"), json!({"Index": {}, "Http": {"Url": "https://x"}}), retrieval),
        replaced(&at(agent, "Retrieval"), json!(7), "must be an object, not a number"),
        replaced("/AgentContexts/index/Retrieval/Index/Limit", json!(0), "must be an integer from 1 to 100"),
        replaced("/AgentContexts/index/Retrieval/Index/Limit", json!(1.5), "must be an integer from 1 to 100"),
        replaced("/AgentContexts/index/Retrieval/Index/MaxBytes", json!(1_048_577), "must be an integer from 1 to 1048576"),
        replaced("/AgentContexts/index/Retrieval/Index/MaxBytes", json!("1"), "must be an integer, not a string"),
        replaced(&at(embeddings, "Dimensions"), json!(4_097), "must be an integer from 1 to 4096"),
        replaced(&at(embeddings, "Weight"), json!(1.01), "must be a number from 0 to 1"),
        replaced(&at(embeddings, "Weight"), json!("0.5"), "must be a number, not a string"),
        replaced(&at(embeddings, "Model"), json!("a b"), model),
        replaced(&at(embeddings, "BaseUrl"), json!("http://localhost/v1?a=b"), "must have no query: /embeddings is appended to it"),
        replaced(&at(embeddings, "TimeoutMs"), json!(0), timeout),
        missing(&at(embeddings, "Dimensions")),
        missing(&at(embeddings, "Model")),
        hidden(&at(conversation, "AgentContextId"), json!("other"), "the catalog has no agent context \"other\"; declare it or remove it here"),
        hidden(&at(conversation, "Mode"), json!("genral"), "the catalog has no mode \"genral\"; did you mean \"general\"?"),
        replaced(&at(conversation, "BootPrompt"), json!(" \n"), "must not be blank"),
        replaced(&at(conversation, "BootPrompt"), long(262_144), &too_long(262_144)),
        replaced(&at(conversation, "Tools/0/type"), json!("custom"), "must be \"function\""),
        replaced(&at(conversation, "Tools/0/name"), json!("a.b"), tool_name),
        replaced(&at(conversation, "Tools/0/name"), json!("agent_change_mode"), "\"agent_change_mode\" is a tool of the product itself; choose another name"),
        hidden(&at(conversation, "Tools/1"), json!({"type": "function", "name": "ddr_document"}), "").with_faults(vec![
            fault(&at(conversation, "Tools/1/name"), "the name \"ddr_document\" is already taken above"),
        ]),
        strict("/additionalProperties", json!(true), "/additionalProperties", "must be false in a strict tool"),
        strict("/required", json!(["title"]), "", "a strict tool requires every property; add \"part\" to \"required\" (an optional one may allow null)"),
        strict("/required", json!(["title", "part", "x"]), "", "\"required\" names \"x\", which is not among \"properties\""),
        strict("/properties/part/anyOf/1/required", json!([]), "/properties/part/anyOf/1", "a strict tool requires every property; add \"n\" to \"required\" (an optional one may allow null)"),
        strict("/$defs", json!({"d": {"type": "object"}}), "/$defs/d", "a strict tool's object schema needs \"additionalProperties\": false"),
        strict("/properties/title", json!({"type": "array", "items": {"properties": {}}}), "/properties/title/items", "a strict tool's object schema needs \"additionalProperties\": false"),
        strict("/properties/title", json!({"oneOf": [{"type": "null"}]}), "/properties/title/oneOf", "is not taken in a strict tool's schema; anyOf is"),
        strict("/if", json!({}), "/if", "is not taken in a strict tool's schema; anyOf is"),
        replaced(&at(conversation, "Tools/0/parameters/allOf"), json!([]), at_the_root),
        replaced("/ServerTools/0/Parameters/anyOf", json!([{"required": ["q"]}]), at_the_root),
        replaced("/ServerTools/0/Parameters/enum", json!([{}]), at_the_root),
        hidden("/ServerTools/0/Parameters/properties/q", json!({"type": ["string", "array"]}), no_items),
        hidden("/ServerTools/0/Parameters/properties/q", json!({"type": "array", "items": {"not": {"type": "array"}}}), "").with_faults(vec![
            fault("/ServerTools/0/Parameters/properties/q/items/not", no_items),
        ]),
        replaced("/ServerTools", json!(null), "").with_faults(vec![
            fault("/Modes/1/Tools/0", "the catalog has no server tool \"lookup\"; declare it or remove it here"),
            fault("/ServerTools", "must be an array, not null"),
        ]),
        replaced("/ServerTools/0/Name", json!("look up"), "").with_faults(vec![
            fault("/Modes/1/Tools/0", "the catalog has no server tool \"lookup\"; did you mean \"look up\"?"),
            fault("/ServerTools/0/Name", tool_name),
        ]),
        hidden("/ServerTools/1", json!({"Name": "lookup", "Description": "L", "Http": {"Url": "https://x"}}), "").with_faults(vec![
            fault("/ServerTools/1/Name", "the name \"lookup\" is already taken above"),
        ]),
        replaced("/ServerTools/1", json!({"Name": "agent_change_mode", "Description": "L", "Http": {"Url": "https://x"}}), "").with_faults(vec![
            fault("/ServerTools/1/Name", "\"agent_change_mode\" is a tool of the product itself; choose another name"),
        ]),
        replaced("/ServerTools/0/OnError", json!("failTurn"), "must be \"FailTurn\" or \"ReportToModel\""),
        replaced("/ServerTools/1", json!({"Name": "agent_approve_tool", "Description": "L", "Http": {"Url": "https://x"}}), "").with_faults(vec![
            fault("/ServerTools/1/Name", "\"agent_approve_tool\" is a tool of the product itself; choose another name"),
        ]),
        replaced("/ServerTools/0/Approval", json!("always"), "must be \"Never\" or \"Always\""),
        replaced("/ServerTools/0/Approval", json!(true), "must be a string, not a boolean"),
        replaced("/ServerTools/0/Approval", json!({"AllowEdit": true}), "").with_faults(vec![
            fault("/ServerTools/0/Approval/When", "the member \"When\" is missing; add it"),
        ]),
        replaced("/ServerTools/0/Approval/AllowEdit", json!("yes"), "must be true or false, not a string"),
        replaced("/ServerTools/0/Approval/Message", json!(" "), "must not be blank"),
        replaced("/ServerTools/0/Parallel", json!("yes"), "must be true or false, not a string"),
        replaced("/ServerTools/0/Strict", json!(1), "must be true or false, not a number"),
        hidden("/ServerTools/0/Strict", json!(true), "").with_faults(vec![
            fault("/ServerTools/0/Parameters", "a strict tool's object schema needs \"additionalProperties\": false"),
            fault("/ServerTools/0/Parameters", "a strict tool requires every property; add \"any\" to \"required\" (an optional one may allow null)"),
        ]),
        replaced("/ServerTools/0/Parameters", json!([]), "must be a JSON Schema object, not an array"),
        replaced("/ServerTools/0/Parameters/type", json!("array"), "must be \"object\""),
        replaced("/ServerTools/0/Parameters/type", json!(["object"]), "must be a string, not an array"),
        replaced("/ServerTools/0/Parameters/properties", json!([]), "must be an object, not an array"),
        replaced("/ServerTools/0/Parameters/properties/q", json!("string"), "must be a JSON Schema, not a string"),
        replaced("/ServerTools/0/Parameters/required", json!("q"), "must be an array, not a string"),
        replaced("/ServerTools/0/Parameters/required", json!(["q", "q"]), "").with_faults(vec![
            fault("/ServerTools/0/Parameters/required/1", "the name \"q\" is already taken above"),
        ]),
        replaced("/ServerTools/0/Http/Url", json!("tools.example.com"), "must be an absolute URL: https://… or http://…"),
        replaced("/ServerTools/0/Http/Url", json!("https://a.example/#x"), "must have no fragment (#…)"),
        replaced("/ServerTools/0/Http/Url", json!("https://a.example/ x"), "must be visible ASCII without spaces and backslashes; percent-encode the rest"),
        hidden("/ServerTools/0/Http/Url", json!("https://a.example/${KEY}"), "must hold no placeholder: secrets are filled into Headers only"),
        hidden("/ServerTools/0/Http/Url", json!("https://a.example:99999/"), "must have a port from 1 to 65535, or none"),
        replaced("/ServerTools/0/Http/TimeoutMs", json!(0), timeout),
        replaced("/ServerTools/0/Http/TimeoutMs", json!(900_001), timeout),
        replaced("/ServerTools/0/Http/TimeoutMs", json!(-1), timeout),
        replaced("/ServerTools/0/Http/Method", json!("GET"), "unknown member \"Method\"; the members here are Url, Headers, TimeoutMs"),
        replaced("/ServerTools/0/Http/Headers", json!(["a"]), "must be an object, not an array"),
        replaced("/ServerTools/0/Http/Headers/X-Org", json!(1), "must be a string, not a number"),
        replaced("/ServerTools/0/Http/Headers/X-Org", json!("a\r\nX-Evil: 1"), header_value),
        replaced("/ServerTools/0/Http/Headers/X-Org", json!("ü"), header_value),
        replaced("/ServerTools/0/Http/Headers/X Org", json!(""), "\"X Org\" is not a header's name"),
        hidden("/ServerTools/0/Http/Headers/host", json!(""), "\"host\" is set by the connection; remove it"),
        hidden("/ServerTools/0/Http/Headers/x-org", json!(""), "the header \"x-org\" is repeated in another case"),
        replaced("/ServerTools/0/Http/Headers/X-Org", json!("a ${API_KEYS}"), own_secret("API_KEYS").as_str()),
        replaced("/AgentContexts/default/Retrieval/Http/Headers/X-Key", json!("${FILE_LINK_KEY}"), own_secret("FILE_LINK_KEY").as_str()),
        replaced(&at(agent, "ApiKeySecret"), json!("FILE_LINK_KEY"), own_secret("FILE_LINK_KEY").as_str()),
        replaced(
            &at(agent, "ApiKeySecret"),
            json!("USER"),
            "no secret is called USER, which stands for the user in headers; name another one",
        ),
        hidden("/ServerTools/0/Http/Headers/X-Org", json!("Bearer ${OPENAI_API_KEY}"), model_key),
        // Whichever stands first in the document.
        hidden("/AgentContexts/plain/ApiKeySecret", json!("LOOKUP_KEY"), "").with_faults(vec![
            fault("/ServerTools/0/Http/Headers/Authorization", &model_key.replace("OPENAI_API_KEY", "LOOKUP_KEY")),
        ]),
        hidden("/ServerTools/0/Http/Headers/X-Org", json!("${}"), "the placeholder at byte 0 does not hold a secret's name (letters, digits and _, not starting with a digit); write it as ${SECRET_NAME}"),
    ];
    let jurisdiction = "must be \"eu\" or \"us\" or \"fedramp\" or \"fedramp-high\"";
    let host = "must be a host alone, without scheme, port and path, such as files.example.com";
    let open =
        "must begin with https://, unless the service is on this machine: a secret is sent there";
    let far = "http://10.0.0.5:8000/v1";
    all.extend([
        replaced(&at(agent, "Residence"), json!("eu"), "must be an array, not a string"),
        replaced(&at(agent, "Residence/0"), json!("EU"), jurisdiction),
        replaced(&at(embeddings, "Residence/0"), json!(""), jurisdiction),
        replaced(
            &at(agent, "Residence/1"),
            json!("eu"),
            "the jurisdiction \"eu\" is already taken above",
        ),
        replaced("/AgentContexts/plain/Retrieval", json!({ "Index": { "Embeddings": {
            "Model": "m", "Dimensions": 1, "Residence": ["eu"] } } }), "").with_faults(vec![fault(
            "/AgentContexts/plain/Retrieval/Index/Embeddings/Residence",
            "is that of a \"BaseUrl\" beside it; without one the agent context's \"Residence\" holds: remove it",
        )]),
        replaced("/ServerTools/0/FileHosts", json!("a.example"), "must be an array, not a string"),
        replaced("/ServerTools/0/FileIds", json!("yes"), "must be true or false, not a string"),
        replaced(&at(agent, "FileHosts/0"), json!("https://a.example"), host),
        replaced("/ServerTools/0/FileHosts/0", json!("https://a.example"), host),
        replaced("/ServerTools/0/FileHosts/0", json!("a.example:443"), host),
        replaced("/ServerTools/0/FileHosts/0", json!("*.a.example"), host),
        replaced("/ServerTools/0/FileHosts/0", json!(""), host),
        hidden("/ServerTools/0/FileHosts/0", json!("10.0.0.256"), host),
        replaced(
            "/ServerTools/0/FileHosts/1",
            json!("files.example.com"),
            "the host \"files.example.com\" is already taken above",
        ),
        // Wherever a secret goes, as with MCP servers.
        hidden("/ServerTools/0/Http/Url", json!("http://tools.example.com"), open),
        hidden(&at(agent, "BaseUrl"), json!(far), open),
        hidden(&at(agent, "Retrieval/Http/Url"), json!(far), open),
        hidden(&at(embeddings, "BaseUrl"), json!(far), open),
        meaning(
            with("/AgentContexts/plain", json!({ "BaseUrl": far, "ApiKeySecret": "KEY" })),
            "/AgentContexts/plain/BaseUrl",
            open,
        ),
        meaning(
            with(
                "/AgentContexts/plain",
                json!({ "BaseUrl": far, "Retrieval": { "Index": { "Embeddings": {
                "Model": "m", "Dimensions": 1, "Headers": { "api-key": "${KEY}" } } } } }),
            ),
            "/AgentContexts/plain/BaseUrl",
            open,
        ),
    ]);
    let tool = "must be a tool's name: 1 to 256 bytes without control characters";
    all.extend([
        missing("/McpServers/crm/Url"),
        replaced("/McpServers/a.b", json!({"Url": "https://x"}), "the key must be 1 to 32 of A-Z a-z 0-9 _ -"),
        hidden("/McpServers/crm/Url", json!("HTTP://crm.example/localhost"), "must begin with https://, unless the server is on this machine"),
        hidden("/McpServers/crm/Headers", json!({"A": "${OPENAI_API_KEY}"}), "").with_faults(vec![
            fault("/McpServers/crm/Headers/A", model_key),
        ]),
        replaced("/McpServers/crm/TimeoutMs", json!(0), timeout),
        replaced("/McpServers/crm/Allow", json!([]), "would leave no tool; name one, or leave \"Allow\" out to offer all"),
        replaced("/McpServers/crm/Allow", json!(["a", "", "a"]), "").with_faults(vec![
            fault("/McpServers/crm/Allow/1", tool),
            fault("/McpServers/crm/Allow/2", "the pattern \"a\" is already taken above"),
        ]),
        replaced("/McpServers/crm/Pins", json!({"a": "0A".repeat(32), "b\n": "0a".repeat(32)}), "").with_faults(vec![
            fault("/McpServers/crm/Pins/a", "must be a SHA-256: 64 digits of lower-case hex"),
            fault("/McpServers/crm/Pins/b\n", tool),
        ]),
        replaced("/McpServers/crm/Pins", json!({"read_*": "0a".repeat(32)}), "").with_faults(vec![
            fault("/McpServers/crm/Pins/read_*", "must be the name of one tool, without *: a pin is of one definition"),
        ]),
        replaced("/McpServers/crm/Approval", json!({"a": "always", "": "Always"}), "").with_faults(vec![
            fault("/McpServers/crm/Approval/", tool),
            fault("/McpServers/crm/Approval/a", "must be \"Never\" or \"Always\""),
        ]),
        replaced("/McpServers/crm/Parallel", json!({"a": "Always", "": true}), "").with_faults(vec![
            fault("/McpServers/crm/Parallel/", tool),
            fault("/McpServers/crm/Parallel/a", "must be true or false, not a string"),
        ]),
        replaced("/McpServers/crm/OnError", json!("Report"), "must be \"FailTurn\" or \"ReportToModel\""),
        hidden("/Modes/1/Tools/2", json!("docz/search"), "the catalog has no MCP server \"docz\"; did you mean \"docs\"?"),
        hidden("/Modes/1/Tools/2", json!("docs/"), "must have * alone behind its /, or the tool's whole name"),
        hidden("/Modes/1/Tools/2", json!("docs/read_*"), "must have * alone behind its /, or the tool's whole name"),
        hidden(&at(conversation, "Tools/2"), json!("crm/find_customer"), "the tool \"crm/find_customer\" is already taken above"),
        hidden(&at(conversation, "Tools/1"), json!("x/y"), "the catalog has no MCP server \"x\"; declare it or remove it here"),
        replaced(&at(conversation, "Tools/1"), json!("lookup"), "must be a client tool, or \"server/tool\" or \"server/*\" of an MCP server; server tools are named by modes"),
        hidden("/McpServers", json!({}), "").with_faults(vec![
            fault(&at(conversation, "Tools/1"), "the catalog has no MCP server \"crm\"; declare it or remove it here"),
            fault("/Modes/1/Tools/2", "the catalog has no MCP server \"docs\"; declare it or remove it here"),
        ]),
    ]);
    for (name, remedy) in [
        ("model", "name the model in \"Model\""),
        ("input", "it is the conversation"),
        ("instructions", "write them into a mode's \"Instructions\""),
        ("tools", "list them in \"Tools\" or \"HostedTools\" of a conversation context"),
        ("tool_choice", "a request chooses by ToolChoiceName"),
        ("previous_response_id", "\"Continuation\" decides it"),
        ("conversation", "\"Continuation\" says who remembers the conversation"),
        ("prompt", "write it into \"BootPrompt\" and \"Instructions\""),
        ("store", "\"Continuation\" decides it"),
        ("stream", "every call is a stream"),
        ("background", "set \"Background\""),
        ("context_management", "set \"Compaction\""),
        ("prompt_cache_key", "set \"PromptCacheKey\""),
    ] {
        for holder in [agent, conversation, "/Modes/1"] {
            let path = format!("{holder}/ModelParameters/{name}");
            let message = format!("is written by the product itself; {remedy}");
            all.push(replaced(&path, json!(null), &message));
        }
    }
    all
}

pub(crate) fn fault(path: &str, message: &str) -> CatalogFault {
    CatalogFault { path: path.to_owned(), message: message.to_owned() }
}
