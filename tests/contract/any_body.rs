//! Bodies that nobody thought of: spoiled, cut, spliced and random ones.

use aptix_edge::contract::{Fault, fingerprint, parse, peek_session_id};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::FULL_TURN;

/// Checks any body: an accepted one goes to its own session; a refused one has at least one fault,
/// each the caller's, within the bound, and readable back.
fn holds_for(body: &[u8]) {
    match parse(body) {
        Ok(request) => {
            assert_eq!(fingerprint(&request).len(), 64);
            assert_eq!(peek_session_id(body).as_ref(), Some(request.session_id()));
        }
        Err(faults) => {
            assert!((1..=101).contains(&faults.len()));
            for fault in &faults {
                assert_eq!(fault.http_status(), 400, "{fault}");
                let json = serde_json::to_string(fault).unwrap();
                assert_eq!(&serde_json::from_str::<Fault>(&json).unwrap(), fault);
                if let (Some(path), Ok(value)) =
                    (&fault.path, serde_json::from_slice::<Value>(body))
                    && fault.code.as_str() != "missing_field"
                    && !path.contains('…')
                {
                    assert!(value.pointer(path).is_some(), "{path} is not in the body");
                }
            }
        }
    }
}

/// Any JSON value of moderate size, with the contract's own names among the members.
fn any_json() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("SessionId".to_owned()),
        Just("TurnId".to_owned()),
        Just("Instruction".to_owned()),
        Just("InputArtifacts".to_owned()),
        Just("Contents".to_owned()),
        Just("Encoding".to_owned()),
        Just("RagScope".to_owned()),
        Just("Conditions".to_owned()),
        Just("ToolResults".to_owned()),
        Just("ResultJson".to_owned()),
        Just("ToolsJson".to_owned()),
        "\\PC{0,12}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
        Just(json!("[{\"type\":\"function\",\"name\":\"n\"}]")),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    // The printed seed reproduces a failure; no file is written beside the tests.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_flipped_bit_never_breaks_the_parser(
        flips in prop::collection::vec((0..FULL_TURN.len(), 0..8_u32), 1..4)
    ) {
        let mut body = FULL_TURN.as_bytes().to_vec();
        for (at, bit) in flips {
            body[at] ^= 1 << bit;
        }
        holds_for(&body);
    }

    #[test]
    fn a_truncated_body_is_malformed(length in 0..FULL_TURN.len()) {
        let faults = parse(&FULL_TURN.as_bytes()[..length]).unwrap_err();
        prop_assert_eq!(faults[0].code.as_str(), "malformed_json");
        prop_assert_eq!(faults.len(), 1);
    }

    #[test]
    fn a_spliced_value_never_breaks_the_parser(
        member in 0..16_usize, value in any_json()
    ) {
        let mut body: Value = serde_json::from_str(FULL_TURN).unwrap();
        let members = body.as_object_mut().unwrap();
        let name = members.keys().nth(member % members.len()).unwrap().clone();
        members.insert(name, value);
        holds_for(body.to_string().as_bytes());
    }

    #[test]
    fn any_json_never_breaks_the_parser(body in any_json()) {
        holds_for(body.to_string().as_bytes());
    }

    #[test]
    fn any_bytes_never_break_the_parser(body in prop::collection::vec(any::<u8>(), 0..200)) {
        holds_for(&body);
    }
}
