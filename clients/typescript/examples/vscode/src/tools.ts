// What the agent may do in the editor.
import { type ApprovalRequest, formatJson, type Tool } from "aptix-edge";
import * as vscode from "vscode";

const text = (name: string, description: string) => ({
  type: "object",
  properties: { [name]: { type: "string", description } },
  required: [name],
});

const readFile: Tool<{ path: string }> = {
  name: "read_file",
  description: "Reads a text file of the workspace.",
  parameters: text("path", "Relative to the workspace's folder."),
  repeatable: true,
  run: async ({ path }) => ({ text: (await vscode.workspace.openTextDocument(await inWorkspace(path))).getText() }),
};

const findFiles: Tool<{ pattern: string }> = {
  name: "find_files",
  description: "Lists files of the workspace.",
  parameters: text("pattern", "A glob pattern, such as src/**/*.ts."),
  repeatable: true,
  run: async ({ pattern }) => (await vscode.workspace.findFiles(pattern, undefined, 200)).map((file) => vscode.workspace.asRelativePath(file)),
};

const problems: Tool<Record<string, never>> = {
  name: "list_problems",
  description: "Lists the errors and warnings that the editor shows.",
  parameters: { type: "object", properties: {} },
  repeatable: true,
  run: () =>
    vscode.languages.getDiagnostics().flatMap(([file, all]) =>
      all.map(({ message, range }) => `${vscode.workspace.asRelativePath(file)}:${range.start.line + 1}: ${message}`),
    ),
};

export const tools: Tool[] = [readFile, findFiles, problems];

/** A dialog cannot be scrolled: longer arguments, in lines and characters, are shown in an editor. */
const MOST_LINES = 20;
const MOST_CHARACTERS = 1000;

/** Asks whether one of the service's tools may run. */
export async function approve({ Name, ArgumentsJson, Message = "" }: ApprovalRequest): Promise<boolean> {
  const content = formatJson(ArgumentsJson);
  if (content.length <= MOST_CHARACTERS && content.split("\n").length <= MOST_LINES) {
    const detail = `${Message}\n\n${content}`.trim();
    return (await vscode.window.showWarningMessage(`Run ${Name}?`, { modal: true, detail }, "Run")) === "Run";
  }
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: "json", content }));
  const question = `${Message} Run ${Name} with the arguments in the editor?`.trim();
  return (await vscode.window.showWarningMessage(question, "Run", "Refuse")) === "Run";
}

/** Paths come from the model: only those below the workspace's folder are read. */
async function inWorkspace(path: string): Promise<vscode.Uri> {
  const [file] = await vscode.workspace.findFiles(path, null, 1);
  if (!file) throw new Error(`There is no file ${path} in the workspace.`);
  return file;
}
