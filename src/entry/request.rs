//! A request as the runtime hands it over, to the Worker in front and to an object alike.

/// The head of a request. Headers are asked for one by one: each is a crossing to the runtime.
pub struct RequestHead<'a> {
    /// The method.
    pub method: &'a str,
    /// The whole URL, normalized by the runtime.
    pub url: &'a str,
    /// The value of a header by its name.
    pub header: &'a dyn Fn(&str) -> Option<String>,
}

impl RequestHead<'_> {
    /// Path and query: what the request asks for. Cut from the runtime's own URL; a URL library
    /// would be a sixth of the bundle.
    pub(super) fn target(&self) -> &str {
        let authority = self.url.split_once("://").map_or(self.url, |(_, rest)| rest);
        let target = authority.find('/').and_then(|start| authority.get(start..)).unwrap_or("/");
        target.split('#').next().unwrap_or(target)
    }

    /// Where the caller reached the deployment: scheme and authority.
    pub(super) fn origin(&self) -> &str {
        let authority = self.url.find("://").map_or(0, |at| at + 3);
        let end = self.url.get(authority..).and_then(|rest| rest.find(['/', '?', '#']));
        end.and_then(|end| self.url.get(..authority + end)).unwrap_or(self.url)
    }

    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        (self.header)(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_cut_into_the_caller_s_origin_and_the_target() {
        for (url, origin, target) in [
            ("https://a.example/execute", "https://a.example", "/execute"),
            ("http://a:8787/x/y?z=%2F#f", "http://a:8787", "/x/y?z=%2F"),
            ("https://a.example", "https://a.example", "/"),
            ("https://a.example?q=1/2", "https://a.example", "/2"),
            ("", "", "/"),
        ] {
            let head = RequestHead { method: "GET", url, header: &|_| None };
            assert_eq!((head.origin(), head.target()), (origin, target), "{url}");
        }
    }
}
