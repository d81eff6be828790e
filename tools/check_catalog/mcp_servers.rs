//! The MCP servers of a catalog: each is asked for its tools, and what the catalog makes of them is said.
//!
//! Protocol, bounds and pins are the Worker's own.

use std::collections::BTreeMap;

use aptix_edge::catalog::{Catalog, McpServer};
use aptix_edge::mcp::{Connection, ListedTool, ProtocolEra, UnusableTool, list_tools, pin_of};

use crate::network::Online;
use crate::report::Findings;

pub(crate) const COLUMNS: [&str; 5] = ["MCP server", "era", "tool", "offered", "pin"];
const YES: &str = "yes";

/// Asks every server.
pub(crate) fn asked(online: &Online) -> Findings {
    let mut findings = Findings::default();
    // The tools that the catalog lets turns offer, of the servers that gave their lists.
    let mut offered = BTreeMap::new();
    for key in online.catalog.mcp_servers() {
        let Some(server) = online.catalog.mcp_server(key) else { continue };
        match tools_of(online, key, server, &mut findings) {
            Ok(names) => _ = offered.insert(key.to_owned(), names),
            Err(why) => {
                findings.advice.push(format!("{key}: gives no list: {}", online.shown(&why)))
            }
        }
    }
    for (user, tools) in users(&online.catalog) {
        let named: Vec<_> = tools.iter().filter_map(|name| name.split_once('/')).collect();
        if named.is_empty() {
            continue;
        }
        let (mut meant, mut missing) = (Vec::new(), Vec::new());
        for (key, wanted) in named {
            // What is wrong with a server that gave no list has been said.
            let Some(names) = offered.get(key) else { continue };
            let fits = names.iter().filter(|name| wanted == "*" || wanted == name.as_str());
            let fits: Vec<String> = fits.map(|name| format!("{key}/{name}")).collect();
            if fits.is_empty() && wanted != "*" {
                missing.push(format!("{user}: names {key}/{wanted}, which is not offered"));
            }
            meant.extend(fits);
        }
        let meant =
            if meant.is_empty() { "no tool of an MCP server".to_owned() } else { meant.join(", ") };
        findings.notes.push(format!("{user} offers {meant}"));
        findings.advice.extend(missing);
    }
    findings
}

/// Lists a server's tools, and returns those that the catalog lets turns offer.
fn tools_of(
    online: &Online,
    key: &str,
    server: &McpServer,
    findings: &mut Findings,
) -> Result<Vec<String>, String> {
    if let Some(missing) = online.missing_secret(&format!("/McpServers/{key}/")) {
        return Err(missing);
    }
    let (machine, network) = online.machine();
    let mut connection = Connection::default();
    let listing = machine.run(list_tools(&machine.platform, &server.http, &mut connection));
    // A status alone says no more than the failure.
    let cause = network.latest_fault().filter(|cause| cause.contains(' '));
    let listing = listing.map_err(|failure| match cause {
        Some(cause) => format!("{failure} ({cause})"),
        None => failure.to_string(),
    })?;
    let era = connection.era.map(ProtocolEra::as_str).into_iter().chain(connection.version);
    let era = era.collect::<Vec<_>>().join(" ");
    let mut row = |tool: &str, verdict: &str, pin: &str| {
        findings.rows.push([key, &era, tool, verdict, pin].map(str::to_owned).to_vec());
    };
    let mut names = Vec::new();
    for tool in &listing.tools {
        let pin = pin_of(tool).unwrap_or_default();
        let verdict = verdict(server, tool, &pin);
        row(&tool.name, verdict, &pin);
        if verdict == YES {
            names.push(tool.name.clone());
        }
    }
    for UnusableTool { name: tool, reason: why } in &listing.unusable {
        row(tool, &format!("no: {why}"), "–");
    }
    if listing.tools.is_empty() && listing.unusable.is_empty() {
        row("–", "no tools", "–");
    }
    findings.advice.extend(faults(server, &listing.tools).map(|fault| format!("{key}: {fault}")));
    Ok(names)
}

/// `yes`, or why the catalog leaves a tool out.
fn verdict(server: &McpServer, tool: &ListedTool, pin: &str) -> &'static str {
    if !server.allows(&tool.name) {
        "no: not in Allow"
    } else if server.pin(&tool.name).is_some_and(|known| known != pin) {
        "no: not what was pinned"
    } else {
        YES
    }
}

/// What of a server's entry does not suit its list.
fn faults<'s>(server: &'s McpServer, tools: &'s [ListedTool]) -> impl Iterator<Item = String> + 's {
    let allowed = server.allow.iter().flatten().map(|pattern| ("Allow", pattern));
    let pinned = server.pins.iter().map(|(name, _)| ("Pins", name));
    let asked = server.approvals.iter().map(|(pattern, _)| ("Approval", pattern));
    let at_once = server.parallels.iter().map(|(pattern, _)| ("Parallel", pattern));
    let unknown = allowed.chain(pinned).chain(asked).chain(at_once).filter(move |(_, pattern)| {
        let alone = McpServer { allow: Some(vec![(*pattern).clone()]), ..McpServer::default() };
        *pattern != "*" && !tools.iter().any(|tool| alone.allows(&tool.name))
    });
    let unknown = unknown
        .map(|(member, pattern)| format!("{member} names {pattern}, which it does not have"));
    let changed = tools.iter().filter(|tool| {
        server.pin(&tool.name).is_some_and(|known| pin_of(tool).as_deref() != Some(known))
    });
    unknown.chain(changed.map(|tool| {
        format!(
            "{} is not what was pinned; read it again before its new pin goes into the catalog",
            tool.name
        )
    }))
}

/// The modes and conversation contexts, with the tools that they name.
fn users(catalog: &Catalog) -> impl Iterator<Item = (String, &[String])> {
    let modes = catalog.modes.iter();
    let modes = modes.map(|mode| (format!("mode {}", mode.key), mode.tools.as_slice()));
    let contexts = catalog.conversation_contexts();
    modes.chain(contexts.map(|(id, context)| {
        (format!("conversation context {id}"), context.tools.of_servers.as_slice())
    }))
}
