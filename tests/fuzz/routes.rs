//! Methods and targets: the endpoint of each, or its refusal.

use aptix_edge::contract::ErrorCode;
use aptix_edge::entry::{Route, SessionRoute, TurnRoute, UserRoute, WorkspaceRoute};

use super::campaign::{Random, Verdict};
use super::mutation::{CONTENT, garbled};

pub(crate) const MET: [&str; 5] =
    ["found", "not_found", "method_not_allowed", "invalid_field", "unknown_field"];

const METHODS: [&str; 10] =
    ["GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "zqContent"];
const SEGMENTS: [&str; 24] = [
    "health",
    "errors",
    "execute",
    "sessions",
    "turns",
    "modes",
    "trace",
    "stream",
    "cancel",
    "s:1",
    "t.1",
    "a",
    "..",
    ".",
    "",
    "Sessions",
    "%73essions",
    "s%2F1",
    "s%252F1",
    "%00",
    "%ff",
    "%c0%ae",
    "é",
    "zqContent zqContent",
];
const ENDPOINTS: [&str; 17] = [
    LINK,
    "/health",
    "/errors",
    "/execute",
    "/tickets",
    "/sessions",
    "/sessions?Status=awaiting_approval&Query=%C3%A9+b&Order=Created&After=c17.s:1",
    "/users/%C3%A9%2Fb",
    "/users/u/revoke",
    "/sessions/s:1",
    "/sessions/s:1/modes",
    "/sessions/s:1/turns",
    "/sessions/s:1/turns?After=t.1&Limit=7",
    "/sessions/s:1/turns/t.1",
    "/sessions/s:1/turns/t.1/stream",
    "/sessions/s:1/turns/t.1/trace",
    "/sessions/s:1/turns/t.1/cancel",
];
/// A link to a file with a signature of nobody.
const LINK: &str = concat!(
    "/files/0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a",
    "-0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
    "?Name=a&MimeType=text%2Fcsv&Expires=1767323045",
    "&Signature=0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c",
);
const QUERIES: [&str; 15] = [
    "",
    "?",
    "?Limit=1",
    "?Limit=0",
    "?Limit=+1",
    "?Limit=99999999999",
    "?After=t",
    "?After=%20",
    "?After=t&After=zqContent%00",
    "?zqContent=1",
    "?Status=zqContent",
    "?Query=%00",
    "?Order=Created&After=a1.s",
    "?&&&",
    "?Limit",
];

/// Where a refusal can say that the fault is.
const PLACES: [Option<&str>; 8] = [
    None,
    Some("/After"),
    Some("/Limit"),
    Some("/Order"),
    Some("/Path"),
    Some("/Query"),
    Some("/Status"),
    Some("/User"),
];

/// A method and a target, with a space between.
pub(crate) fn make(random: &mut Random) -> Vec<u8> {
    let method = if random.one_in(2) { "GET" } else { *random.of(&METHODS) };
    let mut target = (*random.of(&ENDPOINTS)).to_owned();
    match random.below(4) {
        0 => {
            target.clear();
            for _ in 0..random.below(7) {
                target.push('/');
                target.push_str(random.of::<&str>(&SEGMENTS));
            }
        }
        1 => {
            target = target
                .split('/')
                .map(|segment| encoded(segment, random))
                .collect::<Vec<_>>()
                .join("/");
        }
        2 => target = String::from_utf8_lossy(&garbled(target.as_bytes(), random)).into_owned(),
        _ => {}
    }
    target.push_str(random.of::<&str>(&QUERIES));
    format!("{method} {target}").into_bytes()
}

fn encoded(segment: &str, random: &mut Random) -> String {
    let percent = |byte: u8| format!("%{byte:02x}");
    let plain = |byte: u8| char::from(byte).to_string();
    segment.bytes().map(|b| if random.one_in(3) { percent(b) } else { plain(b) }).collect()
}

/// Accepts a route whose path is routed to it again, or a refusal of the right kind that repeats
/// nothing.
pub(crate) fn judge(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let (method, target) = text.split_once(' ').unwrap_or((&text, ""));
    match Route::find(method, target) {
        Ok(route) => {
            let path = path_of(&route).unwrap_or_else(|| target.to_owned());
            let again = Route::find(method, &path);
            if again.as_ref() == Ok(&route) {
                Ok("found".to_owned())
            } else {
                Err(format!("{route:?} is {path}, which is {again:?}"))
            }
        }
        Err(fault) => {
            let shown = serde_json::to_string(&fault).map_err(|error| error.to_string())?;
            let place = fault.path.as_deref();
            let holds = MET.contains(&fault.code.as_str())
                && !shown.contains(CONTENT)
                && PLACES.contains(&place)
                && (fault.code == ErrorCode::MethodNotAllowed)
                    == fault.details.is_some_and(|details| details.contains_key("Allowed"));
            if holds { Ok(fault.code.to_string()) } else { Err(shown) }
        }
    }
}

/// The path of a route, with every byte of its ids percent-encoded. A link to a file has none, because
/// its path is signed as it is.
fn path_of(route: &Route) -> Option<String> {
    let id = |id: &str| id.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    Some(match route {
        Route::File(_) => return None,
        Route::Playground => "/".to_owned(),
        Route::Health => "/health".to_owned(),
        Route::Errors => "/errors".to_owned(),
        Route::OpenApi => "/openapi.json".to_owned(),
        Route::Execute => "/execute".to_owned(),
        Route::Tickets => "/tickets".to_owned(),
        Route::Sessions(filter) => {
            let mut path =
                format!("/sessions?Limit={}&Order={}", filter.limit, filter.order.as_str());
            let mut add = |name: &str, value: Option<String>| {
                if let Some(value) = value {
                    path += &format!("&{name}={}", id(&value));
                }
            };
            add("Status", filter.status.map(|status| status.as_str().to_owned()));
            add("Query", filter.query.clone());
            add("After", filter.after.as_ref().map(|after| after.text(filter.order)));
            path
        }
        Route::User(user, route) => {
            let rest = if *route == UserRoute::Revoke { "/revoke" } else { "" };
            format!("/users/{}{rest}", id(user.as_str()))
        }
        Route::Workspace(workspace, route) => {
            let rest = match route {
                WorkspaceRoute::Upsert => "/documents".to_owned(),
                WorkspaceRoute::Remove(named) => {
                    let paths: Vec<String> =
                        named.iter().map(|path| format!("Path={}", id(&path.sent))).collect();
                    format!("/documents?{}", paths.join("&"))
                }
                WorkspaceRoute::Search => "/search".to_owned(),
                WorkspaceRoute::Compare => "/compare".to_owned(),
                WorkspaceRoute::Counts | WorkspaceRoute::Erase => String::new(),
            };
            format!("/workspaces/{}{rest}", id(workspace))
        }
        Route::Session(session, route) => {
            let rest = match route {
                SessionRoute::View | SessionRoute::Erase | SessionRoute::Rename => String::new(),
                SessionRoute::Export => "/export".to_owned(),
                SessionRoute::Fork => "/fork".to_owned(),
                SessionRoute::Modes => "/modes".to_owned(),
                SessionRoute::Turns(page) => {
                    let after =
                        page.after.as_ref().map(|after| format!("&After={}", id(after.as_str())));
                    format!("/turns?Limit={}{}", page.limit, after.unwrap_or_default())
                }
            };
            format!("/sessions/{}{rest}", id(session.as_str()))
        }
        Route::Turn(session, turn, route) => {
            let rest = match route {
                TurnRoute::View => "",
                TurnRoute::Stream => "/stream",
                TurnRoute::Trace => "/trace",
                TurnRoute::Cancel => "/cancel",
                TurnRoute::Steer => "/steer",
            };
            format!("/sessions/{}/turns/{}{rest}", id(session.as_str()), id(turn.as_str()))
        }
    })
}
