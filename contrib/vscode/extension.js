// Asks `git empirica why --json` about the lines under the cursor. The document is described in docs/reference/json.md.
const { execFile } = require("node:child_process");
const path = require("node:path");
const vscode = require("vscode");

// What was logged about lines, counted from 1, best first; nothing where git or the program refuses.
function why(file, first, last) {
  const place = `${path.basename(file)}:${first}-${last}`;
  const options = { cwd: path.dirname(file), maxBuffer: 16 * 1024 * 1024 };
  return new Promise(resolve => {
    execFile("git", ["empirica", "why", place, "--json"], options, (_, stdout) => {
      try {
        resolve(JSON.parse(stdout).known || []);
      } catch {
        resolve([]);
      }
    });
  });
}

// The texts are data: appendText escapes them.
function markdown(known) {
  const text = new vscode.MarkdownString();
  for (const entry of known) {
    text.appendMarkdown(`**${entry.kind.replaceAll("_", " ")}** \`${entry.id.slice(-8)}\` `);
    text.appendText(`${entry.ai_id}, ${entry.timestamp.slice(0, 10)}`);
    if (entry.state !== "holds") text.appendMarkdown(` *${entry.state}*`);
    text.appendMarkdown("\n\n");
    text.appendText(entry.why ? `${entry.text} — ${entry.why}` : entry.text);
    text.appendMarkdown("\n\n");
  }
  return text;
}

function activate(context) {
  const hover = {
    async provideHover(document, position) {
      const line = position.line + 1;
      const known = (await why(document.fileName, line, line)).filter(entry => entry.relation === "about");
      return known.length ? new vscode.Hover(markdown(known)) : undefined;
    },
  };
  const show = async () => {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const { start, end } = editor.selection;
    const known = await why(editor.document.fileName, start.line + 1, end.line + 1);
    if (!known.length) return vscode.window.showInformationMessage("Nothing was logged about these lines.");
    const items = known.map(entry => ({
      label: entry.text,
      description: `${entry.kind.replaceAll("_", " ")} by ${entry.ai_id}`,
      detail: entry.why || undefined,
    }));
    return vscode.window.showQuickPick(items, { matchOnDetail: true, placeHolder: "What was logged about these lines" });
  };
  context.subscriptions.push(
    vscode.languages.registerHoverProvider({ scheme: "file" }, hover),
    vscode.commands.registerCommand("empirica.why", show),
  );
}

module.exports = { activate, why, markdown };
