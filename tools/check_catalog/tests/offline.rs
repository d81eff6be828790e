//! The command `make check-catalog`: its output and exit status for a right catalog, for one with a
//! fault of every kind, and for none at all.

// A failing test is meant to panic, in its helper functions too.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A catalog with one fault for each line of [`FAULTS`].
const WRONG: &str = r#"{
  "AgentContexts": { "default": { "ApiKeySecret": "MODEL_KEY", "Continuation": "forever" } },
  "ConversationContexts": { "default": {
    "AgentContextId": "defualt", "BootPrompt": "«LONG»",
    "Tools": [
      { "type": "function", "name": "read_file", "strict": true,
        "parameters": { "type": "object", "properties": { "path": { "type": "object" } } } },
      { "type": "function", "name": "read_file" }
    ] } },
  "Modes": [
    { "Key": "general", "DisplayName": "General", "Tools": ["lookip"] },
    { "Key": "general", "DisplayName": "Again" }
  ],
  "ServerTools": [
    { "Name": "lookup", "Description": "Looks up.",
      "Parameters": { "anyOf": [], "properties": { "all": { "type": "array" } } },
      "Http": { "Url": "https://tools.example.com", "Headers": { "Authorization": "Bearer ${LOOKUP_KEY}" } } },
    { "Name": "look up", "Description": "Looks up.", "Http": { "Url": "tools.example.com" } }
  ],
  "Mode": []
}"#;

const FAULTS: &str = r#"/AgentContexts/default/Continuation: must be "stored" or "replay"
/ConversationContexts/default/AgentContextId: the catalog has no agent context "defualt"; did you mean "default"?
/ConversationContexts/default/BootPrompt: is 262145 bytes long; the most is 262144
/ConversationContexts/default/Tools/0/parameters: a strict tool's object schema needs "additionalProperties": false
/ConversationContexts/default/Tools/0/parameters: a strict tool requires every property; add "path" to "required" (an optional one may allow null)
/ConversationContexts/default/Tools/0/parameters/properties/path: a strict tool's object schema needs "additionalProperties": false
/ConversationContexts/default/Tools/1/name: the name "read_file" is already taken above
/Modes/0/Tools/0: the catalog has no server tool "lookip"; did you mean "lookup"?
/Modes/1/Key: the key "general" is already taken above
/ServerTools/0/Parameters/anyOf: must not stand at the root of a tool's schema; describe the alternatives in a property
/ServerTools/0/Parameters/properties/all: an array schema needs "items", the schema of its elements
/ServerTools/1/Name: must be 1 to 64 of A-Z a-z 0-9 _ -
/ServerTools/1/Http/Url: must be an absolute URL: https://… or http://…
/Mode: unknown member "Mode"; did you mean "Modes"?
"#;

const MISSING: &str = "/AgentContexts/default/ApiKeySecret: the secret MODEL_KEY is not in the \
    environment, .dev.vars or SECRETS; set it (wrangler secret put MODEL_KEY) and name it there\n\
    /ServerTools/0/Http/Headers/Authorization: the secret LOOKUP_KEY is not in the environment, \
    .dev.vars or SECRETS; set it (wrangler secret put LOOKUP_KEY) and name it there\n";

const RIGHT: &str = r#"{
  "AgentContexts": { "default": { "ApiKeySecret": "MODEL_KEY" } },
  "ConversationContexts": { "default": { "AgentContextId": "default", "BootPrompt": "Hi." } },
  "Modes": [ { "Key": "general", "DisplayName": "General", "Tools": ["lookup"] }, { "Key": "ddr", "DisplayName": "DDR", "IsDefault": true } ],
  "ServerTools": [ { "Name": "lookup", "Description": "Looks up.", "Http": {
    "Url": "https://tools.example.com", "Headers": { "Authorization": "Bearer ${LOOKUP_KEY}" } } } ]
}"#;

const SUMMARY: &str = "catalog.json has no faults.\n  agent contexts (1): default\n  \
    conversation contexts (1): default\n  modes (2): general, ddr\n  \
    sessions start in general where their context names no mode\n  server tools (1): lookup\n  \
    MCP servers (0)\n  \
    webhooks (0)\n  \
    models of embeddings (0)\n  \
    secrets it needs (2): LOOKUP_KEY, MODEL_KEY\n";

/// A test's own folder with a catalog; removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, catalog: &[u8]) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("catalog.json"), catalog).unwrap();
        Self(path)
    }

    /// Exit status, standard output and standard error, with only these environment variables.
    fn check(&self, arguments: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_check-catalog"));
        command.args(arguments).current_dir(&self.0).env_clear();
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_fault_is_reported_with_its_place_and_the_missing_secrets_with_them() {
    let text = WRONG.replace("«LONG»", &"p".repeat(262_145));
    let folder = Folder::with("wrong", text.as_bytes());
    // Without a list of secrets, a missing one is no fault: a CI has none.
    let seen = folder.check(&["catalog.json"], &[]);
    assert_eq!(seen, (1, FAULTS.to_owned(), String::new()));
    let seen = folder.check(&["catalog.json"], &[("SECRETS", "OTHER_KEY")]);
    assert_eq!(seen, (1, format!("{FAULTS}{MISSING}"), String::new()));
}

#[test]
fn a_right_catalog_is_summed_up_on_one_screen_and_its_secrets_are_looked_for_where_names_are_known()
{
    let folder = Folder::with("right", RIGHT.as_bytes());
    let check = |variables: &[(&str, &str)]| folder.check(&["catalog.json"], variables);
    let not_judged = "Whether they are set was not judged, because there is no .dev.vars and no \
                      SECRETS=\"NAME …\". Not in this environment: LOOKUP_KEY.\n";
    let seen = check(&[("MODEL_KEY", "sk-never-shown")]);
    assert_eq!(seen, (0, format!("{SUMMARY}{not_judged}"), String::new()));

    let all = |sources| format!("{SUMMARY}All of them are in the environment or {sources}.\n");
    let seen = check(&[("MODEL_KEY", "sk-never-shown"), ("SECRETS", " LOOKUP_KEY  OTHER ")]);
    assert_eq!(seen, (0, all("SECRETS"), String::new()));
    // An empty list counts as a list, and an empty secret is missing.
    let seen = check(&[("MODEL_KEY", ""), ("SECRETS", "")]);
    assert_eq!(seen, (1, MISSING.to_owned(), String::new()));

    // As an editor on Windows writes it.
    let dev_vars = "\u{feff}MODEL_KEY=\"sk-never-shown\"\r\n# local\r\nexport LOOKUP_KEY = 'x=y'\r\n#OTHER=1\r\n";
    std::fs::write(folder.0.join(".dev.vars"), dev_vars).unwrap();
    assert_eq!(check(&[]), (0, all(".dev.vars"), String::new()));
    std::fs::write(folder.0.join(".dev.vars"), "#MODEL_KEY=sk-never-shown\n").unwrap();
    assert_eq!(check(&[]), (1, MISSING.to_owned(), String::new()));
}

#[test]
fn a_key_that_only_a_real_model_service_needs_is_not_asked_for_where_the_stand_in_answers() {
    let folder = Folder::with("stand-in", RIGHT.replace("MODEL_KEY", "OPENAI_API_KEY").as_bytes());
    let check = |variables: &[(&str, &str)]| folder.check(&["catalog.json"], variables);
    std::fs::write(folder.0.join(".dev.vars"), "LOOKUP_KEY=x\n").unwrap();
    let (status, summary, _) = check(&[]);
    assert!(
        status == 0
            && summary.ends_with(
                "All but OPENAI_API_KEY are in the environment or .dev.vars; without it, make dev \
                 answers by its stand-in.\n"
            ),
        "{summary}"
    );
    // A model service that is named wants its key, and so does a deployment.
    for variable in [("OPENAI_BASE_URL", "https://models.example"), ("SECRETS", "LOOKUP_KEY")] {
        let (status, faults, _) = check(&[variable]);
        assert!(status == 1 && faults.contains("the secret OPENAI_API_KEY is not"), "{faults}");
    }
}

#[test]
fn a_long_list_of_names_is_cut() {
    let tool =
        |n| format!(r#"{{"Name":"t{n}","Description":"T.","Http":{{"Url":"https://t.example"}}}}"#);
    let tools: Vec<String> = (0..20).map(tool).collect();
    let mut catalog: serde_json::Value = serde_json::from_str(RIGHT).unwrap();
    catalog["ServerTools"] = serde_json::from_str(&format!("[{}]", tools.join(","))).unwrap();
    catalog["Modes"][0]["Tools"] = serde_json::json!([]);
    let folder = Folder::with("long", catalog.to_string().as_bytes());
    let (status, summary, _) = folder.check(&["catalog.json"], &[]);
    let line = "  server tools (20): t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11 and 8 more\n";
    assert!(status == 0 && summary.contains(line), "{summary}");
}

#[test]
fn what_cannot_be_checked_is_a_usage_error_that_names_the_remedy() {
    let folder = Folder::with("unusable", b"{\"Modes\": \"\xff\"}");
    let usage = "check-catalog: usage: make check-catalog FILE=catalog.json [SECRETS=\"NAME …\"] [ONLINE=1|mcp|webhooks]\n";
    for arguments in [&[][..], &[""], &["a.json", "b.json"]] {
        assert_eq!(folder.check(arguments, &[]), (2, String::new(), usage.to_owned()));
    }
    for scope in ["webhook", "0", "all"] {
        let seen = folder.check(&["catalog.json"], &[("ONLINE", scope)]);
        assert_eq!(seen, (2, String::new(), usage.to_owned()));
    }
    let not_text = "check-catalog: catalog.json is not UTF-8; store it as UTF-8\n";
    assert_eq!(folder.check(&["catalog.json"], &[]), (2, String::new(), not_text.to_owned()));
    let (status, output, error) = folder.check(&["absent.json"], &[]);
    assert_eq!((status, output.as_str()), (2, ""));
    assert!(error.starts_with("check-catalog: absent.json cannot be read: "), "{error}");

    let folder = Folder::with("not_json", b"{");
    let message = "the catalog: is not JSON: EOF while parsing an object at line 1 column 1\n";
    assert_eq!(folder.check(&["catalog.json"], &[]), (1, message.to_owned(), String::new()));
}
