//! The terms that find a text: words, and the parts of identifiers, in every spelling.

use aptix_edge::retrieval::{MAX_TERMS, match_expression, searchable};

use super::storage::Storage;
use super::{Index, document};

/// Whether a document that holds `text` is found by `query`.
fn finds(query: &str, text: &str) -> bool {
    let index = Index::new(Storage::new());
    index.upsert(&[document("d", text)]).unwrap();
    !index.search(query, None, 8, usize::MAX).unwrap().is_empty()
}

#[test]
fn every_spelling_of_a_name_finds_every_other() {
    let spellings = [
        "InvoiceManager",
        "invoiceManager",
        "invoice_manager",
        "INVOICE_MANAGER",
        "invoice-manager",
        "Invoice::Manager",
        "invoice manager",
    ];
    for query in spellings {
        for text in spellings {
            assert!(finds(query, text), "{query} in {text}");
        }
    }
}

#[test]
fn a_name_is_split_where_its_words_begin() {
    for (name, parted) in [
        ("HTTPServer", "HTTP Server"),
        ("parseHTTPRequest2", "parse HTTP Request 2"),
        ("SessionIDs", "Session IDs"),
        ("IDs", "IDs"),
        ("URLsOfAll", "URLs Of All"),
        ("sha256_hex", "sha 256_hex"),
        ("x86_64", "x 86_64"),
        ("ÜberÄnderung", "Über Änderung"),
        ("straßeName", "straße Name"),
        ("U\u{308}berA\u{308}nderung", "U\u{308}ber A\u{308}nderung"),
        ("GRO\u{308}SSE", "GRO\u{308}SSE"),
        ("ČeskáPošta", "Česká Pošta"),
        ("ŁÓDŹ", "ŁÓDŹ"),
        ("ΑλφαΒήτα", "Αλφα Βήτα"),
        ("ΌΧΙ", "ΌΧΙ"),
        ("ALLCAPS", "ALLCAPS"),
        ("lower", "lower"),
        ("発票管理Manager", "発 票 管 理 Manager"),
        ("佐々木と𠮷野", "佐 々 木 と 𠮷 野"),
        ("ไทยรัฐ", "ไ ท ย รัฐ"),
        ("a.b(c, D)", "a.b(c, D)"),
        ("", ""),
    ] {
        assert_eq!(searchable(name), parted);
    }
}

#[test]
fn case_endings_and_diacritics_do_not_count() {
    for (query, text) in [
        ("server", "HTTPServer"),
        ("UTF-8", "utf8"),
        ("sha256", "SHA-256"),
        ("invoices", "Invoice"),
        ("renewing a subscription", "RenewSubscriptionsAsync"),
        ("cafe", "Café"),
        ("über", "UBER"),
        ("café", "CAFE\u{301}"),
        ("česká", "ČESKÁ POŠTA"),
        ("Łódź", "ŁÓDŹ"),
        ("ΑΛΦΑ", "αλφα"),
        ("管理", "発票管理"),
        ("佐々木", "佐々木です"),
        ("รหัสผ่าน", "วิธีรีเซ็ตรหัสผ่านของฉัน"),
        ("วิธีรีเซ็ตรหัสผ่านของฉันในระบบใหม่", "รหัสผ่าน"),
        ("user's", "user"),
    ] {
        assert!(finds(query, text), "{query} in {text}");
    }
    for (query, text) in [("invoice", "voice"), ("manager", "man"), ("http", "html")] {
        assert!(!finds(query, text), "{query} in {text}");
    }
}

#[test]
fn a_document_is_found_by_its_path_too() {
    let index = Index::new(Storage::new());
    index
        .upsert(&[document("Billing/Managers/InvoiceManager.cs", "x"), document("b", "y")])
        .unwrap();
    let found = index.search("where is the invoice manager?", None, 8, usize::MAX).unwrap();
    assert_eq!(found[0].path, "Billing/Managers/InvoiceManager.cs");
}

#[test]
fn a_question_becomes_its_words_and_pairs_of_neighbours_without_stop_words() {
    let terms = |query| {
        let expression = match_expression(query).unwrap();
        let mut terms: Vec<String> = expression.split(" OR ").map(str::to_owned).collect();
        terms.sort();
        terms
    };
    assert_eq!(
        terms("Where is the running turn kept alive?"),
        [
            "\"alive\"",
            "\"kept alive\"",
            "\"kept\"",
            "\"running turn\"",
            "\"running\"",
            "\"turn kept\"",
            "\"turn\""
        ]
    );
    assert_eq!(terms("keep_alive"), ["\"alive\"", "\"keep alive\"", "\"keep\""]);
    // A stop word counts inside a name only.
    assert_eq!(terms("isRunning"), ["\"is running\"", "\"running\""]);
    // A vowel sign is no word: FTS5 reads none.
    assert_eq!(terms("ភាសា"), ["\"ភ ស\"", "\"ភ\"", "\"ស\""]);
    assert_eq!(terms("မြန်"), ["\"န\"", "\"မ န\"", "\"မ\""]);
}

#[test]
fn a_query_without_content_words_has_no_terms() {
    for query in ["", " \n", "the of and", "?!*", "\"\"", "🦀", "a b c", &"x".repeat(1000)] {
        assert_eq!(match_expression(query), None, "{query:?}");
    }
}

#[test]
fn a_long_query_is_searched_for_by_words_and_not_by_pairs_alone() {
    let letter = |n: usize| char::from(b'a' + n as u8);
    let words: Vec<String> =
        (0..40).map(|n| format!("topic{}{}", letter(n / 26), letter(n % 26))).collect();
    assert!(finds(&words.join(", "), "topicad"));
    assert!(match_expression(&words.join(", ")).unwrap().contains("\"topicad topicae\""));
}

#[test]
fn a_search_by_a_long_text_uses_its_names_and_frequent_words() {
    let letter = |n: usize| char::from(b'a' + n as u8);
    let noise: String =
        (0..600).map(|n| format!("noise{}{}\n", letter(n / 26), letter(n % 26))).collect();
    let query = format!("Why does `retryAfterMs` fail? {noise} timeout timeout timeout");
    let expression = match_expression(&query).unwrap();
    assert!(
        expression.contains("\"retry after\"") && expression.contains("\"timeout\""),
        "{expression}"
    );
    // A signature, a key or a hash takes no place from the words of a question.
    let data: String = (0..60).map(|n| format!("{}{}", n % 10, letter(n * 7 % 26))).collect();
    assert!(finds(&format!("Why does {data} break the renewal?"), "renewal"));
    let many: String = (0..1000).map(|n| format!("camelCase{} ", "x".repeat(n % 40))).collect();
    assert_eq!(match_expression(&many).unwrap().split(" OR ").count(), MAX_TERMS);
}
