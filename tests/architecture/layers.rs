//! The tasks that belong to one layer alone (AGN-027 §3.1).

use super::assert_only;
use super::sources::{Source, root, sources};

/// The names of the items that write a request to the model service.
const WRITERS: [&str; 7] = [
    "system_message",
    "user_message",
    "function_call_output",
    "FunctionTool",
    "ResponsesRequest",
    "ToolChoice",
    "ContentPart",
];

/// The code that sets a session's mode.
const ASSIGNMENTS: [&str; 3] = [". mode = ", ". mode . clone_from (", ". mode . replace_range ("];

/// The folders, each once, with a file for which `hold` is true.
fn folders_that(hold: impl Fn(&Source) -> bool) -> Vec<String> {
    let mut folders: Vec<String> =
        sources().iter().filter(|file| hold(file)).map(|file| file.folder().to_owned()).collect();
    folders.dedup();
    folders
}

#[test]
fn only_composition_writes_what_the_model_sees() {
    assert_only(&[], |file| {
        !["composition", "responses_api"].contains(&file.folder())
            && file.names().contains("responses_api")
            && WRITERS.iter().any(|writer| file.code.says(writer))
    });
}

#[test]
fn a_body_is_finished_where_it_is_composed() {
    // The texts of a composed request have no writer outside of the file that composes it.
    let composing = "composition/model_request.rs";
    let written = std::fs::read_to_string(root().join("src").join(composing)).unwrap();
    let (_, fields) = written.split_once("pub struct ComposedRequest {").unwrap();
    let (fields, _) = fields.split_once('}').unwrap();
    assert!(fields.contains("head:") && !fields.contains("pub "), "{fields}");
    assert!(!written.contains("&mut ComposedRequest") && !written.contains("&mut self"));
    assert_only(&[composing], |file| file.code.text.contains("ComposedRequest {"));
}

#[test]
fn only_the_reasoner_names_composition_the_model_call_and_the_tools() {
    // Entry has the model service delete what it stored for an erased session, and cancel what nobody reads.
    let owed = ["Deletion", "Endpoint", "cancel_response", "delete_response"];
    assert_only(&[], |file| {
        let may = |item: &str| file.folder() == "entry" && owed.contains(&item);
        !["reasoner", "llm_call"].contains(&file.folder())
            && (["composition", "server_tools"].iter().any(|step| file.names().contains(*step))
                || file.items_of("llm_call").iter().any(|item| !may(item)))
    });
}

#[test]
fn one_folder_calls_the_model_service_and_one_file_of_the_reasoner_calls_that() {
    // The address of the service's endpoint is written by whoever calls it.
    let names_the_endpoint = |file: &Source| {
        file.names().contains("outbound")
            && file.code.literals.iter().any(|text| text == "responses")
    };
    assert_eq!(folders_that(names_the_endpoint), ["llm_call"]);
    assert_eq!(
        folders_that(|file| file.code.text.contains(". send (") && file.folder() != "platform"),
        ["llm_call", "outbound"]
    );
    let callers: Vec<String> = sources()
        .iter()
        .filter(|file| {
            file.code.text.contains("llm_call :: call (")
                || file.items_of("llm_call").contains("call")
        })
        .map(|file| file.path.clone())
        .collect();
    assert!(matches!(callers.as_slice(), [one] if one.starts_with("reasoner/")), "{callers:?}");
}

#[test]
fn only_the_reasoner_changes_a_session_s_mode() {
    // Persistence stores the mode that the reasoner decided on.
    assert_only(&[], |file| {
        !["reasoner", "persistence"].contains(&file.folder())
            && ASSIGNMENTS.iter().any(|assignment| file.code.text.contains(assignment))
    });
}

#[test]
fn an_invoke_result_is_built_in_one_place() {
    assert_only(&["contract/invoke_result.rs"], |file| {
        file.code.text.contains("struct InvokeResult ") || file.text.contains("\"Successful")
    });
}

#[test]
fn retrieval_knows_of_no_session_and_few_files_of_it_ask_the_storage() {
    assert_only(&[], |file| {
        file.folder() == "retrieval"
            && ["SessionStore", "Session", "Turn", "texts"].iter().any(|name| file.code.says(name))
    });
    // Chunks and terms are cut and compared without storage.
    let asking = [
        "chunk_index",
        "index/comparison",
        "index/scope",
        "index/scope_keys",
        "index/tables",
        "index/word_ranking",
        "index/writing",
        "search",
        "vectors/embedder",
        "vectors/question_vector",
        "vectors/vector_ranking",
        "vectors/vector_tables",
    ];
    assert_only(
        &asking.map(|name| format!("retrieval/{name}.rs")).each_ref().map(String::as_str),
        |file| file.folder() == "retrieval" && file.code.says("Database"),
    );
}

#[test]
fn a_read_error_in_the_storage_is_never_turned_into_a_default() {
    assert_only(&[], |file| {
        (file.folder() == "persistence"
            || file.folder() == "retrieval" && file.code.says("Database"))
            && ["unwrap_or_default", ". ok ( )", "if let Ok ("]
                .iter()
                .any(|shape| file.code.text.contains(shape))
    });
}
