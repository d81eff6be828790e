//! What stands in the header `Authorization`, told by its form.

/// A credential that a request shows, unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presented<'h> {
    /// None, or one that is not of the scheme `Bearer`.
    Nothing,
    Ticket(&'h str),
    /// A token of an identity provider.
    Token(&'h str),
    Key(&'h str),
}

impl<'h> Presented<'h> {
    /// The credential of a header `Authorization`.
    pub fn of(authorization: Option<&'h str>) -> Self {
        let presented = authorization
            .and_then(|header| header.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, credential)| credential.trim())
            .filter(|credential| !credential.is_empty());
        match presented {
            None => Self::Nothing,
            Some(ticket) if ticket.starts_with("apt1.") => Self::Ticket(ticket),
            Some(token) if token.starts_with("eyJ") && token.matches('.').count() == 2 => {
                Self::Token(token)
            }
            Some(key) => Self::Key(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_told_by_its_form() {
        for (header, presented) in [
            ("", Presented::Nothing),
            ("Bearer", Presented::Nothing),
            ("Bearer ", Presented::Nothing),
            ("Basic abc", Presented::Nothing),
            ("bearer abc", Presented::Key("abc")),
            ("Bearer apt1.a.b", Presented::Ticket("apt1.a.b")),
            ("Bearer eyJ.a.b", Presented::Token("eyJ.a.b")),
            ("Bearer eyJ.a", Presented::Key("eyJ.a")),
        ] {
            assert_eq!(Presented::of(Some(header)), presented, "{header}");
        }
        assert_eq!(Presented::of(None), Presented::Nothing);
    }
}
