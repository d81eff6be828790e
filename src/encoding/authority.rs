//! The authority of an origin, and whether it is this machine.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Host and port of an http or https origin; `None` for any other, such as `null`.
pub fn authority_of(origin: &str) -> Option<&str> {
    let (scheme, authority) = origin.split_once("://")?;
    ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)).then_some(authority)
}

/// Whether an authority is 127.0.0.0/8, `[::1]`, `localhost` or a name below it, at any port.
pub fn is_loopback(authority: &str) -> bool {
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if is_number(port) => host,
        _ => authority,
    };
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback());
    }
    let host = host.to_ascii_lowercase();
    // A name below localhost may hold nothing that would end the host in another reader's eyes.
    let is_name =
        |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    host == "localhost"
        || host.strip_suffix(".localhost").is_some_and(is_name)
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// Whether what is sent to a URL crosses a network unencrypted: by http, and to another machine. URL parsers skip white
/// space before a URL and line ends within it, and take any slashes behind the scheme, or none.
pub fn is_sent_openly(url: &str) -> bool {
    let url: String = url.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let url = url.trim_start_matches(|c| c <= ' ');
    let Some((scheme, rest)) = url.split_once(':') else { return false };
    let authority = rest.trim_start_matches(['/', '\\']).split(['/', '?', '#', '\\']).next();
    scheme.eq_ignore_ascii_case("http") && !authority.is_some_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_to_another_machine_is_sent_openly() {
        for open in [
            "http://a.example",
            "HTTP://crm.example/localhost",
            "http://10.0.0.5:8000/v1",
            "http://localhost@a.example/",
            "http://a.example?localhost",
            " http://a.example",
            "\nht\ttp://a.example",
            "http:/a.example",
            "http:a.example/localhost",
            "http:\\\\a.example",
        ] {
            assert!(is_sent_openly(open), "{open}");
        }
        for not in
            ["https://a.example", "http://localhost:1/v1?a=b", "HTTP://[::1]", "", "a.example"]
        {
            assert!(!is_sent_openly(not), "{not}");
        }
    }

    #[test]
    fn a_loopback_authority_is_told_from_its_imitations() {
        for here in [
            "localhost",
            "LOCALHOST:8787",
            "app.localhost:1",
            "127.0.0.1",
            "127.9.8.7:65535",
            "[::1]",
            "[0:0:0:0:0:0:0:1]:8787",
        ] {
            assert!(is_loopback(here), "{here}");
        }
        for elsewhere in [
            "",
            ":8787",
            "edge.example",
            "localhost.evil.example",
            "evil.example:localhost",
            "notlocalhost",
            "evil.example/.localhost",
            "evil.example@localhost",
            "evil.example#.localhost",
            "127.0.0.1.evil.example",
            "128.0.0.1",
            "0.0.0.0",
            "10.0.0.1",
            "[::]",
            "[::2]:80",
            "::1",
            "null",
        ] {
            assert!(!is_loopback(elsewhere), "{elsewhere}");
        }
        assert_eq!(authority_of("HTTPS://a:1"), Some("a:1"));
        for other in ["null", "", "localhost", "app://localhost", "file://", "httpx://localhost"] {
            assert!(!authority_of(other).is_some_and(is_loopback), "{other}");
        }
    }
}
