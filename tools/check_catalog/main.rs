//! `make check-catalog FILE=…`: reports every fault of a catalog, with its place, before it is deployed. With
//! `ONLINE=1` it also asks the services that a right catalog names, with `ONLINE=mcp` its MCP servers alone. With
//! `ONLINE=webhooks`, and only then, it sends each webhook a message.
//!
//! [`Catalog::parse`] owns the rules, for the Worker too, and what is said to a service is said by the Worker's
//! own code ([`network`] takes its requests to the real network). This program reads the file and the secrets,
//! and writes the report. It exits with 0 for a catalog without faults whose services suit it, 1 for any other,
//! and 2 when there was nothing to check. No value of a secret reaches the output. It runs on a person's
//! machine or in a CI and is no part of the Worker.

mod background;
mod embeddings;
mod fallbacks;
mod mcp_servers;
mod model_services;
mod network;
mod probe;
mod report;
mod secrets;
mod webhooks;

use std::io::{self, Write};
use std::process::ExitCode;
use std::{env, fs};

use aptix_edge::catalog::{Catalog, ConversationContext, needed_secrets};

use network::Online;
use report::{Findings, line, seen, table};
use secrets::Secrets;

/// What `ONLINE` may be.
const SCOPES: [&str; 4] = ["", "1", "mcp", "webhooks"];

fn main() -> ExitCode {
    let (text, status) = match report() {
        Ok((report, status)) => (io::stdout().write_all(report.as_bytes()), status),
        Err(reason) => {
            let reason = format!("check-catalog: {reason}\n");
            (io::stderr().write_all(reason.as_bytes()), ExitCode::from(2))
        }
    };
    match text {
        // A reader that left early (`| head`) is no fault.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitCode::from(2),
        _ => status,
    }
}

/// The report and its exit status; an error when there is nothing to check.
fn report() -> Result<(String, ExitCode), String> {
    let mut arguments = env::args_os().skip(1);
    let scope = env::var("ONLINE").unwrap_or_default();
    let (Some(file), None, true) = (
        arguments.next().filter(|file| !file.is_empty()),
        arguments.next(),
        // A word that was written wrong must not have every model service asked, which costs.
        SCOPES.contains(&scope.as_str()),
    ) else {
        return Err(
            "usage: make check-catalog FILE=catalog.json [SECRETS=\"NAME …\"] [ONLINE=1|mcp|webhooks]"
                .to_owned(),
        );
    };
    let name = file.to_string_lossy();
    let text = fs::read(&file).map_err(|error| format!("{name} cannot be read: {error}"))?;
    let text =
        String::from_utf8(text).map_err(|_| format!("{name} is not UTF-8; store it as UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
    let secrets = Secrets::known()?;
    let needed = needed_secrets(&text);
    let checked = Catalog::parse(&text);
    let mut faults: Vec<String> =
        checked.as_ref().err().into_iter().flatten().map(ToString::to_string).collect();
    faults.extend(secrets.faults(&needed));
    let catalog = match checked {
        Ok(catalog) if faults.is_empty() => catalog,
        _ => return Ok((faults.join("\n") + "\n", ExitCode::FAILURE)),
    };
    let summary = summary(&name, &catalog) + &secrets.summary(&needed);
    if scope.is_empty() {
        return Ok((summary, ExitCode::SUCCESS));
    }
    let (found, suits) = online(&Online { catalog, text, secrets, needed }, &scope);
    let status = if suits { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    Ok((format!("{summary}\n{found}"), status))
}

/// What the services came to, and whether all of them suit the catalog.
fn online(online: &Online, scope: &str) -> (String, bool) {
    let (models, fallbacks, embeddings) = match scope {
        "mcp" | "webhooks" => Default::default(),
        _ => (model_services::asked(online), fallbacks::asked(online), embeddings::asked(online)),
    };
    let (servers, webhooks) = match scope {
        "webhooks" => (Findings::default(), webhooks::asked(online)),
        _ => (mcp_servers::asked(online), Findings::default()),
    };
    let advice =
        [models.advice, fallbacks.advice, embeddings.advice, servers.advice, webhooks.advice]
            .concat();
    let suits = advice.is_empty();
    let verdict = if suits { vec!["Every setting suits its service.".to_owned()] } else { advice };
    let parts = [
        table(&model_services::COLUMNS, &models.rows),
        models.notes,
        table(&fallbacks::COLUMNS, &fallbacks.rows),
        table(&embeddings::COLUMNS, &embeddings.rows),
        table(&mcp_servers::COLUMNS, &servers.rows),
        servers.notes,
        table(&webhooks::COLUMNS, &webhooks.rows),
        verdict,
    ];
    let parts = parts.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"));
    (seen(&parts.collect::<Vec<_>>().join("\n\n")) + "\n", suits)
}

/// What the catalog offers, one line for each kind of thing.
fn summary(file: &str, catalog: &Catalog) -> String {
    let default = &catalog.turn_mode(None, &ConversationContext::default()).key;
    [
        format!("{file} has no faults.\n"),
        line("agent contexts", catalog.agent_contexts().map(|(id, _)| id)),
        line("conversation contexts", catalog.conversation_contexts().map(|(id, _)| id)),
        line("modes", catalog.modes.iter().map(|mode| mode.key.as_str())),
        format!("  sessions start in {default} where their context names no mode\n"),
        line("server tools", catalog.server_tools.iter().map(|tool| tool.name.as_str())),
        line("MCP servers", catalog.mcp_servers()),
        line("webhooks", catalog.webhooks().map(|(name, _)| name)),
        line("models of embeddings", catalog.embeddings(None).iter().map(|by| by.model.as_str())),
    ]
    .concat()
}
