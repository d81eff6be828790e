//! The bodies of the requests that this Worker and its objects receive: a short one of an announced length is taken at
//! once, any other is read piece by piece.
//!
//! A body that is read from its stream takes some calls into the runtime more (`tests/goldens/turn_counts.json`).
//! The runtime keeps a body to the length that it announces, unless it comes in chunks.

use worker::web_sys::Request;

use super::bindings::messages::{bytes_of, whole_body};
use super::byte_stream::ByteReader;
use super::promise::settled;
use super::request_head::ReceivedHead;
use crate::ports::{CHUNK_BYTES, HttpFault, Upload, announced_length};

/// A body as it arrives.
pub(super) enum ReceivedBody {
    /// A body of at most [`CHUNK_BYTES`], of which nothing was taken.
    Short(Request),
    /// With the number of its bytes that have come, up to [`CHUNK_BYTES`].
    Long(ByteReader, usize),
    Ended,
}

impl ReceivedBody {
    /// The body of a request with this head; `None` when it has none.
    pub(super) fn of(request: &Request, head: &ReceivedHead) -> Result<Option<Self>, HttpFault> {
        let announced = announced_length(|name| head.header(name));
        if announced.is_some_and(|length| length <= CHUNK_BYTES) {
            return Ok(Some(Self::Short(Clone::clone(request))));
        }
        let reader = request.body().as_ref().map(ByteReader::new).transpose()?;
        Ok(reader.map(|reader| Self::Long(reader, 0)))
    }

    /// All of it. It stands in this module's memory alone, and but for a moment only once.
    pub(super) async fn whole(mut self) -> Result<Vec<u8>, HttpFault> {
        let mut pieces = Vec::new();
        while let Some(piece) = self.piece(CHUNK_BYTES).await? {
            pieces.push(piece);
        }
        match pieces.len() {
            1 => Ok(pieces.pop().unwrap_or_default()),
            _ => Ok(pieces.concat()),
        }
    }
}

impl Upload for ReceivedBody {
    async fn piece(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        match self {
            Self::Long(reader, came) if !reader.ended => {
                if *came >= CHUNK_BYTES || at_least >= CHUNK_BYTES {
                    return Ok(reader.read(at_least).await?);
                }
                let piece = reader.read_exactly(at_least).await?;
                *came += piece.as_ref().map_or(0, Vec::len);
                Ok(piece)
            }
            Self::Short(request) => {
                let taking = whole_body(request)?;
                *self = Self::Ended;
                let bytes = bytes_of(&settled(&taking).await?);
                Ok((!bytes.is_empty()).then_some(bytes))
            }
            Self::Long(..) | Self::Ended => Ok(None),
        }
    }
}
