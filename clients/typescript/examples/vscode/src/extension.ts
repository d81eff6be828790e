// A chat participant: the turns of a chat are a session of the service, its tools run in the editor. What runs when the
// window is reloaded goes on, with its tools, when it is there again.
import { Aptix, AptixError, type Turn } from "aptix-edge";
import * as vscode from "vscode";
import { approve, tools } from "./tools.js";

/** The turn that is being watched, as `workspaceState` keeps it. */
interface OpenTurn {
  sessionId: string;
  turnId: string;
}
const OPEN = "aptix-edge.open";
const KEY = "aptix-edge.key";

export function activate(context: vscode.ExtensionContext): void {
  const aptix = new Aptix({
    baseUrl: vscode.workspace.getConfiguration("aptix-edge").get("url", "http://127.0.0.1:8787"),
    credential: () => context.secrets.get(KEY),
    // Results of tools outlive a reload, so that no tool runs twice.
    store: context.workspaceState,
  });
  const watched = async <T>(turn: Turn, watch: () => Promise<T>): Promise<T> => {
    await context.workspaceState.update(OPEN, { sessionId: turn.sessionId, turnId: turn.turnId } satisfies OpenTurn);
    try {
      return await watch();
    } finally {
      await context.workspaceState.update(OPEN, undefined);
    }
  };

  const participant = vscode.chat.createChatParticipant("aptix-edge.agent", async (request, chat, response, signal) => {
    const sessionId = sessionOf(chat) ?? `vscode-${crypto.randomUUID()}`;
    const session = aptix.session(sessionId);
    const turn = session.turn(
      { Instruction: request.prompt, InputArtifacts: await referenced(request) },
      { tools, onApproval: approve, signal, cancelOnAbort: true, progress: true },
    );
    try {
      await watched(turn, () => show(turn, response));
    } catch (error) {
      if (signal.isCancellationRequested) return { metadata: { sessionId } };
      if (!(error instanceof AptixError)) throw error;
      return { metadata: { sessionId }, errorDetails: { message: `${error.message} (${error.code})` } };
    }
    return { metadata: { sessionId } };
  });

  const setKey = vscode.commands.registerCommand("aptix-edge.setKey", async () => {
    const key = await vscode.window.showInputBox({ prompt: "The service's key", password: true });
    if (key !== undefined) await context.secrets.store(KEY, key);
  });
  context.subscriptions.push(participant, setKey);

  const open = context.workspaceState.get<OpenTurn>(OPEN);
  if (open) {
    const turn = aptix.session(open.sessionId).attach(open.turnId, { tools, onApproval: approve });
    watched(turn, () => finish(turn)).catch((error) => vscode.window.showErrorMessage(String(error?.message ?? error)));
  }
}

/** Writes a turn into the chat. What was written cannot be taken back there, so it is only said that it was not it. */
async function show(turn: Turn, response: vscode.ChatResponseStream): Promise<void> {
  for await (const event of turn) {
    if (event.type === "text") response.markdown(event.delta);
    else if (event.type === "discard") response.markdown("\n\n*(on second thought)*\n\n");
    else if (event.type === "tool_calls") response.progress(event.calls.map(({ Name }) => Name).join(", "));
    else if (event.type === "progress" && event.progress.Kind === "server_tool") response.progress(event.progress.Name);
    else if (event.type === "result" && event.response.Kind === "final") {
      for (const warning of event.response.UserWarnings ?? []) response.markdown(`\n\n> ${warning}`);
    }
  }
}

/** Brings a turn to its end that a reload has cut off, and shows the answer as a document. */
async function finish(turn: Turn): Promise<void> {
  const title = "The agent finishes what it was asked before the window was reloaded";
  const { PrimaryOutputText: content } = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title },
    () => turn.final(),
  );
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: "markdown", content }));
}

/** The session of a chat stands in the metadata of its earlier answers. */
function sessionOf({ history }: vscode.ChatContext): string | undefined {
  const answers = history.filter((entry): entry is vscode.ChatResponseTurn => entry instanceof vscode.ChatResponseTurn);
  return answers.at(-1)?.result.metadata?.["sessionId"];
}

/** The files that the user has attached to the question. */
async function referenced({ references }: vscode.ChatRequest) {
  const files = references.map(({ value }) => (value instanceof vscode.Location ? value.uri : value));
  const artifacts = files.filter((file) => file instanceof vscode.Uri).map(async (file) => {
    const document = await vscode.workspace.openTextDocument(file);
    const RelativePath = vscode.workspace.asRelativePath(file);
    return { RelativePath, FileName: RelativePath.split("/").pop()!, Contents: document.getText(), Origin: "ide" as const };
  });
  return artifacts.length > 0 ? Promise.all(artifacts) : undefined;
}
