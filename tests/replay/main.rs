//! `make replay-bundle FILE=…`: replays the export of a session. It exits with 0 when everything is as
//! it is recorded, 1 when something is not, and 2 when there was nothing to replay. It calls no network.

use std::io::{self, Write};
use std::process::ExitCode;
use std::{env, fs};

use replay::{Report, report};

fn main() -> ExitCode {
    let (written, status) = match replayed() {
        Ok(Report { text, faults }) => {
            (io::stdout().write_all(text.as_bytes()), ExitCode::from(u8::from(faults > 0)))
        }
        Err(reason) => {
            let reason = format!("replay-bundle: {reason}\n");
            (io::stderr().write_all(reason.as_bytes()), ExitCode::from(2))
        }
    };
    match written {
        // A reader that left early (`| head`) is no fault.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitCode::from(2),
        _ => status,
    }
}

fn replayed() -> Result<Report, String> {
    let mut arguments = env::args().skip(1);
    let (Some(file), None) = (arguments.next().filter(|file| !file.is_empty()), arguments.next())
    else {
        return Err("usage: make replay-bundle FILE=export.json".to_owned());
    };
    let export =
        fs::read_to_string(&file).map_err(|error| format!("{file} cannot be read: {error}"))?;
    report(&export).map_err(|reason| format!("{file} cannot be replayed: {reason}"))
}
