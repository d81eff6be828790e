//! What is sent to the model service.

use aptix_edge::llm_call::{Deletion, Endpoint, call, delete_response};
use aptix_edge::ports::{HttpMethod, HttpRequest};
use bed::{HttpReply, LoneStep};

use super::{Ear, MESSAGE, completed, endpoint, stream};

#[test]
fn a_call_is_one_post_with_the_body_as_it_is_and_a_key_when_there_is_one() {
    let step = LoneStep::replying([1, 2].map(|_| HttpReply::new(200, &completed(MESSAGE))));
    let body = "{ \"model\": \"m\" }";
    for endpoint in [
        endpoint(),
        Endpoint { headers: Vec::new(), base_url: "http://m/v1".to_owned(), ..endpoint() },
    ] {
        let mut ear = Ear::listening_from(&step, 0);
        step.run(call(&step.platform, &endpoint, body.to_owned(), &mut stream(), &mut ear))
            .unwrap();
    }
    let accept = ("Accept".to_owned(), "text/event-stream".to_owned());
    let plain = ("Accept-Encoding".to_owned(), "identity".to_owned());
    let bearer = ("Authorization".to_owned(), "Bearer k".to_owned());
    assert_eq!(
        step.sent(),
        [
            HttpRequest {
                method: HttpMethod::Post,
                url: "https://model.example/v1/responses".to_owned(),
                headers: vec![accept.clone(), plain.clone(), bearer],
                body: body.to_owned(),
                reads: &[],
            },
            HttpRequest {
                method: HttpMethod::Post,
                url: "http://m/v1/responses".to_owned(),
                headers: vec![accept, plain],
                body: body.to_owned(),
                reads: &[],
            },
        ]
    );
}

#[test]
fn headers_and_a_query_go_with_calls_and_deletions() {
    let own = |text: &str| text.to_owned();
    for name in ["X-Project", "API-Key", "authorization"] {
        let step =
            LoneStep::replying([HttpReply::new(200, &completed(MESSAGE)), HttpReply::new(200, "")]);
        let endpoint = Endpoint {
            headers: vec![(own(name), own("v"))],
            query: vec![(own("api version"), own("1&2")), (own("é"), own(""))],
            ..endpoint()
        };
        let mut ear = Ear::listening_from(&step, 0);
        step.run(call(&step.platform, &endpoint, own("{}"), &mut stream(), &mut ear)).unwrap();
        let deleted = step.run(delete_response(&step.platform, &endpoint, "r/1"));
        assert_eq!(deleted, Deletion::Gone);
        for (request, path) in step.sent().iter().zip(["", "/r%2F1"]) {
            let query = "api%20version=1%262&%C3%A9=";
            let url = format!("https://model.example/v1/responses{path}?{query}");
            assert_eq!(request.url, url);
            let mut sent = request.headers.clone();
            sent.retain(|(name, _)| !name.starts_with("Accept"));
            assert_eq!(sent, [(own(name), own("v"))]);
        }
    }
}

#[test]
fn a_response_is_deleted_by_its_id_alone_whatever_the_id_looks_like() {
    let deleted = |id: &str| {
        let step = LoneStep::replying([HttpReply::new(200, "{}")]);
        let gone = step.run(delete_response(&step.platform, &endpoint(), id));
        (gone, step.sent().into_iter().map(|request| request.url).collect::<Vec<_>>())
    };
    for (id, segment) in [
        ("resp_0-9.a~Z", "resp_0-9.a~Z"),
        ("../../files/f", "..%2F..%2Ffiles%2Ff"),
        ("a?b#c%2e", "a%3Fb%23c%252e"),
        ("\\..\\é", "%5C..%5C%C3%A9"),
        ("...", "..."),
    ] {
        let url = format!("https://model.example/v1/responses/{segment}");
        assert_eq!(deleted(id), (Deletion::Gone, vec![url]), "{id}");
    }
    for id in ["", ".", ".."] {
        assert_eq!(deleted(id), (Deletion::Refused, Vec::new()), "{id:?} names another thing");
    }
}

#[test]
fn a_deletion_is_waited_for_no_longer_than_an_alarm_may_take_however_long_a_service_may_be_silent()
{
    let step = LoneStep::replying([HttpReply::new(200, "{}").after(3_600_000)]);
    let endpoint = Endpoint { idle_timeout_ms: 3_600_000, ..endpoint() };
    assert_eq!(step.run(delete_response(&step.platform, &endpoint, "r")), Deletion::Unanswered);
    assert_eq!(step.now_ms(), 60_000);
}
