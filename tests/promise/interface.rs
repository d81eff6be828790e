//! The pages of the interface, `src/contract/interface/`: read here and nowhere else.

use std::path::PathBuf;

/// The folder's page that names all others.
const INDEX: &str = "README.md";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../src/contract/interface")
}

/// The pages of the sections, in order: name of the file and text. The index is none of them.
fn pages() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != INDEX);
    names.sort();
    let text = |name: &String| std::fs::read_to_string(folder().join(name)).unwrap();
    names.iter().map(|name| (name.clone(), text(name))).collect()
}

/// The page of a section, by its number.
pub(super) fn section(number: u32) -> String {
    let begin = format!("{number:02}-");
    let (_, text) = pages().into_iter().find(|(name, _)| name.starts_with(&begin)).unwrap();
    text
}

/// The numbers of all sections. Each stands in the name of its page and in the page's heading.
pub(super) fn numbers() -> Vec<u32> {
    let mut numbers = Vec::new();
    for (name, text) in pages() {
        let Ok(number) = name.split('-').next().unwrap().parse() else { continue };
        assert!(text.starts_with(&format!("# {number}. ")), "{name} has another heading");
        numbers.push(number);
    }
    numbers
}

#[test]
fn the_index_names_every_page_in_order() {
    let index = std::fs::read_to_string(folder().join(INDEX)).unwrap();
    let rows = super::table(&index, "page");
    let named: Vec<String> = rows.iter().map(|row| row[0].to_owned()).collect();
    let link = |(name, text): (String, String)| {
        let heading = text.lines().next().unwrap().trim_start_matches("# ").to_owned();
        format!("[{heading}]({name})")
    };
    assert_eq!(named, pages().into_iter().map(link).collect::<Vec<_>>());
}
