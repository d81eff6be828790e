//! Links to the files that server tools made (interface §8): anyone with the link may read the file
//! until the link expires, without other authentication.
//!
//! It owns the members of a link and their signature, an HMAC-SHA256 with the deployment's
//! `FILE_LINK_KEY`.

use std::collections::BTreeMap;
use std::fmt;

use hmac::digest::Key;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};

use crate::encoding::{Jurisdiction, hex, is_sha256, sha256_from_hex};

/// The members of a link's query.
const MEMBERS: [&str; 5] = ["Bucket", "Name", "MimeType", "Expires", "Signature"];

/// The name of a kept file: its session's object, and the SHA-256 of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileId {
    object: String,
    /// SHA-256 of the file's bytes, in lower-case hex.
    pub sha256: String,
}

impl FileId {
    /// The id of the bytes with this SHA-256, in lower-case hex. `object` is the id of their session's
    /// object, unique within the deployment: 64 characters of lower-case hex.
    pub fn of(object: String, sha256: String) -> Self {
        Self { object, sha256 }
    }

    /// Reads `{object}-{sha256}`.
    pub fn parse(text: &str) -> Option<Self> {
        let (object, sha256) = text.split_once('-')?;
        (is_sha256(object) && is_sha256(sha256))
            .then(|| Self { object: object.to_owned(), sha256: sha256.to_owned() })
    }

    /// The file's key in the bucket.
    pub fn key(&self) -> String {
        format!("{}{}", Self::folder(&self.object), self.sha256)
    }

    /// The prefix of all keys of a session.
    pub fn folder(object: &str) -> String {
        format!("{object}/")
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.object, self.sha256)
    }
}

/// The members of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLink {
    pub id: FileId,
    /// The jurisdiction of the bucket that holds it, if that has one.
    pub bucket: Option<Jurisdiction>,
    /// The name to save it under.
    pub name: String,
    /// Its media type, as the tool gave it.
    pub mime_type: String,
    /// When the link expires, in seconds since the Unix epoch.
    pub expires_at: u64,
}

impl FileLink {
    /// Path and query of the signed link.
    pub fn target(&self, key: &str) -> String {
        let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
        let signature = hex(&self.mac(key).finalize().into_bytes());
        let bucket = self.bucket.map(|bucket| format!("Bucket={}&", bucket.as_str()));
        format!(
            "/files/{}?{}Name={}&MimeType={}&Expires={}&Signature={signature}",
            self.id,
            bucket.unwrap_or_default(),
            encoded(&self.name),
            encoded(&self.mime_type),
            self.expires_at
        )
    }

    fn mac(&self, key: &str) -> Hmac<Sha256> {
        let Self { id, bucket, name, mime_type, expires_at } = self;
        // HMAC takes a key of one block; hashing fits a key of any length into it.
        let mut block = Key::<Hmac<Sha256>>::default();
        block.iter_mut().zip(Sha256::digest(key)).for_each(|(place, byte)| *place = byte);
        // Only the last part can hold a line feed, and no bucket is an id, so different links have different signed texts.
        let bucket = bucket.map(|bucket| format!("{}\n", bucket.as_str())).unwrap_or_default();
        Hmac::new(&block).chain_update(format!("{bucket}{id}\n{expires_at}\n{mime_type}\n{name}"))
    }
}

/// A link from a request, its signature not checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentedLink {
    link: FileLink,
    signature: Vec<u8>,
}

impl PresentedLink {
    /// Reads the id and the query of a request; `None` when they cannot be a link of this product.
    /// Unknown members are ignored, because mail programs and chats add their own.
    pub fn parse(id: &str, query: &str) -> Option<Self> {
        let mut members = BTreeMap::new();
        let given = query.split('&').filter_map(|member| member.split_once('='));
        for (member, value) in given.filter(|(member, _)| MEMBERS.contains(member)) {
            let value = percent_decode_str(value).decode_utf8().ok()?;
            if members.insert(member, value).is_some() {
                return None;
            }
        }
        let mut text = |member: &str| members.remove(member).map(|text| text.into_owned());
        let bucket = text("Bucket").map(|name| Jurisdiction::parse(&name).ok_or(()));
        let link = FileLink {
            id: FileId::parse(id)?,
            bucket: bucket.transpose().ok()?,
            name: text("Name")?,
            mime_type: text("MimeType").filter(|text| !text.contains('\n'))?,
            expires_at: text("Expires")?.parse().ok()?,
        };
        Some(Self { link, signature: sha256_from_hex(&text("Signature")?)? })
    }

    /// The link, if it was signed with this key.
    pub fn signed_with(self, key: &str) -> Option<FileLink> {
        // Compares in constant time, so that the duration reveals nothing of the signature.
        let Self { link, signature } = self;
        link.mac(key).verify_slice(&signature).is_ok().then_some(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::sha256_hex;

    const KEY: &str = "a key of the deployment";

    fn link() -> FileLink {
        FileLink {
            id: FileId::of("0a".repeat(32), sha256_hex(b"contents")),
            bucket: None,
            name: "Q3 & Q4 – größte.csv".to_owned(),
            mime_type: "text/csv; charset=utf-8".to_owned(),
            expires_at: 1_767_323_045,
        }
    }

    fn presented(target: &str) -> Option<FileLink> {
        let (path, query) = target.split_once('?').unwrap();
        PresentedLink::parse(path.strip_prefix("/files/").unwrap(), query)?.signed_with(KEY)
    }

    #[test]
    fn a_signed_link_is_accepted_also_with_members_that_others_added() {
        let target = link().target(KEY);
        assert!(target.is_ascii() && !target.contains([' ', '"', '<', '>']), "{target}");
        assert_eq!(presented(&target), Some(link()));
        assert_eq!(presented(&format!("{target}&utm_source=chat&x")), Some(link()));
        assert_eq!(link().id.key(), format!("{}/{}", "0a".repeat(32), link().id.sha256));
        assert_eq!(FileId::parse(&link().id.to_string()), Some(link().id));
    }

    #[test]
    fn a_link_with_anything_changed_is_refused() {
        let target = link().target(KEY);
        for (from, to) in [
            ("/0a0a", "/0a0b"),
            ("Name=Q3", "Name=Q4"),
            ("text%2Fcsv", "text%2Fhtml"),
            ("Expires=1767323045", "Expires=1767323046"),
            ("Expires=1767323045", "Expires=01767323045"),
            ("Expires=1767323045", "Expires=1767323045&Expires=9999999999"),
            ("Expires=1767323045", "Expires=x"),
            ("&Expires=1767323045", ""),
            ("Name=", "name="),
            ("MimeType=", "MimeType=a%0A"),
            ("Name=", "Name=%FF"),
            ("&Signature=", "&Signature=00"),
        ] {
            assert!(target.contains(from), "{from}");
            let changed = target.replacen(from, to, 1);
            // A leading zero does not change the number that was signed.
            let same = to == "Expires=01767323045";
            assert_eq!(presented(&changed).is_some(), same, "{changed}");
        }
        let at = target.len() - 64;
        for place in 0..64 {
            let mut digits: Vec<char> = target.chars().collect();
            digits[at + place] = if digits[at + place] == '0' { '1' } else { '0' };
            assert_eq!(presented(&digits.into_iter().collect::<String>()), None, "digit {place}");
        }
        let (path, query) = target.split_once('?').unwrap();
        let id = path.strip_prefix("/files/").unwrap();
        let other_key = |key| PresentedLink::parse(id, query).unwrap().signed_with(key);
        assert_eq!(other_key("another key"), None);
        assert_eq!(other_key(""), None);
    }

    #[test]
    fn a_link_opens_no_other_bucket_than_the_one_it_was_made_for() {
        let of = |bucket| FileLink { bucket, ..link() }.target(KEY);
        let (plain, eu) = (of(None), of(Some(Jurisdiction::Eu)));
        let opened = presented(&eu).unwrap();
        assert_eq!(opened.bucket, Some(Jurisdiction::Eu));
        for turned in [
            eu.replacen("Bucket=eu&", "", 1),
            eu.replacen("Bucket=eu&", "Bucket=us&", 1),
            eu.replacen("Bucket=eu&", "Bucket=fr&", 1),
            eu.replacen("Bucket=eu&", "Bucket=&", 1),
            format!("{eu}&Bucket=us"),
            plain.replacen("?", "?Bucket=eu&", 1),
        ] {
            assert_eq!(presented(&turned), None, "{turned}");
        }
        assert!(!plain.contains("Bucket"), "a link without a jurisdiction is as it was");
    }

    #[test]
    fn members_moved_across_a_boundary_have_another_signature() {
        let mut other = link();
        other.mime_type = "text/csv".to_owned();
        other.name = format!("; charset=utf-8\n{}", link().name);
        let signature =
            |link: &FileLink| link.target(KEY).split_once("Signature=").unwrap().1.to_owned();
        assert_ne!(signature(&link()), signature(&other));
    }
}
