//! Right documents, and copies with one member changed.

use serde_json::{Value, json};

/// A document that uses every member.
pub(crate) fn full() -> Value {
    json!({
        "$schema": "./catalog.schema.json",
        "AgentContexts": {
            "default": {
                "BaseUrl": "https://api.example.com/v1", "ApiKeySecret": "OPENAI_API_KEY",
                "Model": "gpt-5.1", "Continuation": "replay", "Background": "Never", "ResendTools": false,
                "DeleteStored": true,
                "Headers": { "OpenAI-Project": "p", "X-Gateway": "key ${GATEWAY_KEY}" },
                "Query": { "api-version": "v 1", "e&": "é" }, "PromptCacheKey": "None",
                "ModelParameters": {
                    "reasoning": { "effort": "low" }, "include": ["web_search_call.results"],
                    "text": { "verbosity": "low" }
                },
                "Compaction": { "By": "Service", "Threshold": 200_000, "Prompt": "Sum up." },
                "Budget": { "TurnTokens": 500_000, "SessionTokens": 4_294_967_295_u32 },
                "MaxIterations": 1000, "RetentionDays": 90, "FileHosts": ["Pictures.example.com"],
                "Residence": ["eu", "fedramp-high"],
                "Fallbacks": ["index"], "OfferHostedTools": false,
                "Retrieval": { "Http": {
                    "Url": "http://localhost:9200/find", "Headers": { "X-Key": "${FIND_KEY}" },
                    "TimeoutMs": 5000, "Limit": 3, "MaxBytes": 1000
                } }
            },
            "index": { "Model": "spare-1", "Retrieval": { "Index": { "Limit": 100, "MaxBytes": 1_048_576, "Embeddings": {
                "Model": "embed-1", "Dimensions": 256, "BaseUrl": "http://localhost:9300/v1",
                "Headers": { "Authorization": "Bearer ${EMBED_KEY}" }, "TimeoutMs": 2000, "Weight": 0.25,
                "Residence": ["us"]
            } } } },
            "plain": {
                "Retrieval": "None", "PromptCacheKey": "Session",
                "Compaction": { "By": "None" }, "Budget": { "TurnTokens": 1 }
            }
        },
        "ConversationContexts": {
            "default": {
                "AgentContextId": "default", "BootPrompt": "Be useful.", "Model": "gpt-5.1-mini",
                "Mode": "ddr", "Tools": [ {
                    "type": "function", "name": "ddr_document", "description": "Writes a DDR.",
                    "strict": true,
                    "parameters": {
                        "type": "object", "additionalProperties": false,
                        "required": ["title", "part"],
                        "properties": {
                            "title": { "type": "string" },
                            "part": { "anyOf": [ { "type": "null" }, {
                                "type": ["object", "null"], "additionalProperties": false,
                                "required": ["n"], "properties": { "n": { "type": "integer" } }
                            } ] }
                        }
                    }
                }, "crm/find_customer" ],
                "HostedTools": [
                    { "type": "web_search", "filters": { "allowed_domains": [] } },
                    { "type": "mcp", "server_label": "d", "require_approval": "never" }
                ],
                "ModelParameters": {
                    "text": { "format": { "type": "json_schema", "name": "n", "schema": {} } }
                }
            }
        },
        "Modes": [
            {
                "Key": "general", "DisplayName": "General", "WhenToUse": "", "WelcomeMessage": "",
                "Instructions": "", "Tools": [], "HostedTools": [], "ModelParameters": {}, "IsDefault": false
            },
            {
                "Key": "ddr", "DisplayName": "DDR ✍", "WhenToUse": "DDRs.",
                "WelcomeMessage": "Welcome.", "Instructions": "Write.",
                "Tools": ["lookup", "agent_list_modes", "docs/*"],
                "HostedTools": [ { "type": "shell", "environment": { "type": "container_auto" } } ],
                "ModelParameters": { "max_output_tokens": 4000, "x-own": null },
                "IsDefault": true
            }
        ],
        "ServerTools": [ {
            "Name": "lookup", "Description": "Looks up.", "Strict": false,
            "Parameters": {
                "properties": { "q": { "type": "string" }, "any": true }, "required": ["q"]
            },
            "OnError": "ReportToModel",
            "Approval": { "When": "Always", "AllowEdit": true, "Message": "Looks abroad." },
            "Parallel": true,
            "Http": {
                "Url": "https://tools.example.com/lookup?v=1",
                "Headers": { "X-Org": "acme", "Authorization": "Bearer ${LOOKUP_KEY}" },
                "TimeoutMs": 900_000
            },
            "FileHosts": ["files.example.com", "[2001:db8::1]"], "FileIds": true, "TraceContext": true
        } ],
        "McpServers": {
            "docs": {
                "Url": "https://docs.example.com/mcp?v=1", "Headers": { "X-Docs": "${DOCS_KEY}" },
                "TimeoutMs": 5000, "Allow": ["search", "read_*"], "Pins": { "search": "0a".repeat(32) }, "TraceContext": true,
                "Approval": { "read_*": "Never", "*": { "When": "Always", "AllowEdit": true } },
                "Parallel": { "read_big": false, "read_*": true },
                "OnError": "FailTurn"
            },
            "crm": { "Url": "http://127.0.0.1:3000/mcp" }
        }
    })
}

/// A document with the required members only.
pub(crate) fn least() -> Value {
    json!({
        "AgentContexts": { "a": {} },
        "ConversationContexts": { "c": { "AgentContextId": "a", "BootPrompt": "Hi." } },
        "Modes": [ { "Key": "m", "DisplayName": "M" } ]
    })
}

/// The full document with the value at a pointer replaced, or inserted into its object.
pub(crate) fn with(pointer: &str, value: Value) -> Value {
    let mut document = full();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer to a member");
    match document.pointer_mut(parent).expect("the parent exists") {
        Value::Object(members) => drop(members.insert(name.replace("~1", "/"), value)),
        Value::Array(items) => match items.get_mut(name.parse::<usize>().expect("an index")) {
            Some(item) => *item = value,
            None => items.push(value),
        },
        _ => panic!("{parent} holds nothing"),
    }
    document
}

pub(crate) fn without(pointer: &str) -> Value {
    let mut document = full();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer to a member");
    let members = document.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
    members.remove(name).expect("the member exists");
    document
}
