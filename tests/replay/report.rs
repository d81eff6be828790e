//! What the command prints: a line for each model call, and what was not as it is recorded.

use aptix_edge::encoding::disturbs_a_line;

use super::bundle::Bundle;
use super::rebuild::rebuild;
use super::rerun::rerun;

/// The result of a replay.
#[derive(Debug)]
pub struct Report {
    /// For people, in lines.
    pub text: String,
    /// The number of bodies and outcomes that are not as they are recorded, or cannot be rebuilt.
    pub faults: usize,
}

/// Rebuilds every body of an export, and runs the session again. It fails for a text that is no export.
pub fn report(export: &str) -> Result<Report, String> {
    let bundle = Bundle::read(export).map_err(|why| seen(&why))?;
    let mut report = Report { text: String::new(), faults: 0 };
    for turn in &bundle.turns {
        report.say(&format!("turn {}: {}", turn.turn_id, turn.status));
        for (place, call) in turn.model_calls.iter().enumerate() {
            let what = if call.summary { "summary" } else { "model call" };
            let place = format!("  {what} {}", place + 1);
            match rebuild(&bundle, turn, call) {
                Ok(body) => report.say(&format!("{place}: rebuilt, {} bytes, hash ok", body.len())),
                Err(why) => report.find(&format!("{place}: {why}")),
            }
        }
    }
    // The bed stops at what no session does; the record may have been changed by hand.
    let again = std::panic::catch_unwind(|| rerun(export));
    match again.unwrap_or_else(|_| Err("the test bed stopped at it".to_owned())) {
        Err(why) => report.find(&format!("not run again: {why}")),
        Ok(findings) if findings.is_empty() => report.say("run again: every outcome is the same"),
        Ok(findings) => {
            report.say("run again:");
            findings.iter().for_each(|finding| report.find(&format!("  {finding}")));
        }
    }
    Ok(report)
}

impl Report {
    fn say(&mut self, line: &str) {
        self.text.push_str(&seen(line));
        self.text.push('\n');
    }

    fn find(&mut self, line: &str) {
        self.faults += 1;
        self.say(line);
    }
}

/// A text for a terminal, in which what somebody wrote into an export moves no cursor and turns no text.
fn seen(text: &str) -> String {
    let shown =
        |c: char| if c != '\n' && disturbs_a_line(c) { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(shown).collect()
}
