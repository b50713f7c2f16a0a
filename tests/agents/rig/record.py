"""Writes what an agent sent in a trial as a recording, which the ordinary tests replay: hooks, frames of MCP clients and transcripts, in order of time."""

import json
import re
from datetime import datetime, timezone
from pathlib import Path

from cannot import reason, snapshots_of
from clis import AGENTS
from facts import Served, Work, served, tasks
from trial import PROGRAM, Trial

FIXTURES = Path(__file__).parents[2] / "fixtures/agents"
# The others send nothing that these do not.
RECORDED = ("work", "findings", "plan", "resume", "continue", "fork", "compaction", "sub-agent", "subfolder", "code-mode", "together", "twins")
# The longest text that is kept: what is longer is a prompt or a description of the vendor's, of which a leading tag stays.
LONGEST = 300
VARIABLES = re.compile(r"SESSION|THREAD|_CLI$|_CI$|PROJECT_DIR$|^CLAUDECODE$|^OPENCODE$|_AGENT$|ENTRYPOINT$")
# Parts of transcripts that say nothing about the work.
NO_ROWS = {"world_state", "thread_settings_applied", "system.message", "hook.start", "hook.end"}
NO_ROWS |= {"assistant.turn_start", "assistant.turn_end", "session.mcp_servers_loaded", "session.skills_loaded"}
NO_KEYS = {"attachment", "base_instructions", "developer_instructions", "user_instructions", "instructions", "tools", "dynamic_tools", "rate_limits", "permissionMode", "userType"}
NO_KEYS |= {"internal_chat_message_metadata_passthrough", "root_turn_id", "started_at_ms", "completed_at_ms", "content_item_kinds", "create_time", "turn_token_usage"}
NO_KEYS |= {"parsed_cmd", "duration", "process_id", "requestId", "ordinal", "serviceRequestId", "encryptedContent", "toolDescription", "interactionId", "cache_creation"}
NO_KEYS |= {"server_tool_use", "service_tier", "inference_geo", "speed", "promptId", "entrypoint", "sourceToolAssistantUUID", "promptSource", "intentionSummary"}
NO_KEYS |= {"interTokenLatencyMs", "requestBodyEncoding", "contentFilterTriggered", "rte", "aiCreditsStatus", "timeToFirstTokenMs", "apiEndpoint", "modelDisplayName"}
NO_KEYS |= {"codeBlocks", "options", "toolTitle", "snapshot", "detailedContent", "originatingMessageId", "toolTelemetry", "permission", "approval_policy", "sandbox_policy"}
NO_KEYS |= {"permission_profile", "approvals_reviewer", "collaboration_mode", "sampled_through_sequence", "client_authored", "history_sequence", "revision"}
NO_KEYS |= {"last_usage_includes_reasoning", "model_context_window", "fallback_token_limit_override", "user_input_order", "first_turn_id", "thread_token_usage"}
NO_KEYS |= {"totalNanoAiu", "interactionType", "outputTtftMs", "requestBodyWireBytes", "unmatchedToolResultCount", "frontierSource", "usageId", "cost", "turnId"}
NO_KEYS |= {"cacheDetailsReported", "renderOutputAsMarkdown", "displayName", "sourceSessionId"}


class Scrubber:
    """Puts placeholders for the places of a trial, and takes out texts that are the vendor's."""

    def __init__(self, trial: Trial):
        places = [(trial.repo, "repo"), (trial.home, "home"), (trial.folder, "trial"), (AGENTS, "agents"), (Path(PROGRAM).parent, "bin")]
        self.places = [(str(path), f"{{{name}}}") for path, name in places]
        # a name that Claude Code makes of a path
        self.places += [(re.sub(r"[^A-Za-z0-9]", "-", str(trial.repo)), "{slug}")]
        # what the scenario says and lets the model call is kept, however long
        called = [call.arguments for row in trial.model.served for call in row.get("calls", [])]
        self.own = json.dumps([trial.runs, called], ensure_ascii=False)

    def place(self, text: str) -> str:
        for path, name in self.places:
            text = text.replace(path, name)
        return text

    def text(self, text: str, is_vendors: bool = False) -> str:
        text = self.place(text)
        if text.startswith("{") and (inner := document(text)) is not None:
            return json.dumps(self(inner, is_vendors), ensure_ascii=False)
        is_own = "git empirica" in text or json.dumps(text, ensure_ascii=False)[1:-1] in self.own
        if (len(text) > LONGEST or is_vendors) and not is_own:
            return (re.match(r"\s*(<[\w -]+>|# AGENTS\.md)?", text).group(1) or "") + "…"
        return text

    def __call__(self, value, is_vendors: bool = False):
        if isinstance(value, str):
            return self.text(value, is_vendors)
        if isinstance(value, list):
            return [self(one, is_vendors) for one in value]
        if isinstance(value, dict):
            is_vendors = is_vendors or value.get("role") in ("developer", "system")
            # roles and types are names
            kept = {key: one for key, one in value.items() if key not in NO_KEYS and one not in (None, [], {}) and (one != 0 or not key.endswith("_tokens"))}
            return {self.text(key): self(one, is_vendors and key in ("text", "content")) for key, one in kept.items()}
        return value


def document(text: str):
    try:
        return json.loads(text)
    except ValueError:
        return None


def time_of(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def rows_of(data: bytes) -> list[dict]:
    rows = [document(line) for line in data.decode("utf-8", "replace").splitlines()]
    return [row for row in rows if isinstance(row, dict) and not {row.get("type"), (row.get("payload") or {}).get("type")} & NO_ROWS]


class Recording:
    """The rows of a recording."""

    def __init__(self, trial: Trial):
        self.trial, self.scrub, self.rows, self.written = trial, Scrubber(trial), [], {}
        self.environments: list[dict] = []

    def folder(self, row: dict) -> str:
        return self.scrub(row["cwd"])

    def variables(self, row: dict) -> int:
        """The place of the row's variables in the first row of the recording."""
        chosen = {key: self.scrub(value) for key, value in sorted(row["env"].items()) if VARIABLES.search(key)}
        if chosen not in self.environments:
            self.environments.append(chosen)
        return self.environments.index(chosen)

    def bring(self, file: Path, content: bytes | dict) -> None:
        """Adds what is new in a transcript."""
        if isinstance(content, dict):
            before = self.written.get(file, {})
            new = {table: [row for row in rows if row not in before.get(table, [])] for table, rows in content.items()}
            # every row has every column
            new = {table: [{key: self.scrub(one) for key, one in row.items() if key not in NO_KEYS} for row in rows] for table, rows in new.items() if rows}
            if new:
                self.rows.append({"database": self.scrub(str(file)), "tables": new})
        else:
            before = self.written.get(file, b"")
            is_longer = content.startswith(before)
            new = [self.scrub(row) for row in rows_of(content[len(before) :] if is_longer else content)]
            if new:
                self.rows.append({"transcript": self.scrub(str(file)), "rows": new} | ({} if is_longer else {"anew": True}))
        self.written[file] = content

    def bring_all(self, run: int) -> None:
        for file, content in self.trial.states[run].items():
            if self.written.get(file) != content:
                self.bring(file, content)

    def event(self, row: dict, run: int) -> None:
        base = {"at": time_of(row["at"])}
        if "event" in row:
            payload = json.loads(row["stdin"])
            file = Path(payload.get("transcript_path") or payload.get("transcriptPath") or "")
            content = self.trial.states[run].get(file, b"")
            if row["size"] and isinstance(content, bytes):
                # whole rows
                end = content.rfind(b"\n", 0, row["size"]) + 1
                self.bring(file, content[: max(end, len(self.written.get(file, b"")))])
            self.rows.append(base | {"hook": row["event"], "agent": row["agent"], "in": self.folder(row), "env": self.variables(row), "payload": self.scrub(payload)})
        elif "frame" in row:
            self.rows.append(base | {"server": row["server"], "frame": json.loads(self.scrub.place(row["frame"]))})
        else:
            self.rows.append(base | {"server": row["server"], "in": self.folder(row), "env": self.variables(row)})


def told(frames: list[dict]) -> list[dict]:
    """Of the servers that were called: their starts and what they were told; lists and pings change nothing."""
    called = {row["server"] for row in frames if '"tools/call"' in row.get("frame", "")}
    kept = ("initialize", "notifications/initialized", "server/discover", "tools/call")
    return [row for row in frames if row["server"] in called and ("frame" not in row or document(row["frame"]).get("method") in kept)]


def work(work: Work) -> dict:
    return {"tokens": work.tokens, "tools": work.tools, "failures": work.failures, "files": sorted(work.files)}


def expected(trial: Trial, ident: str, one: Served) -> dict:
    ran = one.runs[0]
    before = trial.ran[trial.ran.index(ran) - 1].session if ran.run["how"] == "fork" else None
    out = {"session": ident, "agent": ran.cli.name, "parent": before, "tasks": tasks(trial, one), "findings": one.main.findings}
    # the tokens of the whole session are those of sub-agents and compactions too
    main = work(one.main) | {"tokens": one.main.tokens + one.agents.tokens + one.summaries}
    return out | {"waits": one.waits, "plan": one.runs[-1].run.get("plan", []), "main": main, "agents": work(one.agents)}


def write(trial: Trial) -> None:
    """Writes the recording of a trial that was played to its end."""
    # only processes tell sessions without hooks apart, and those of Gemini CLI; a replay has none
    by_process = reason(trial.agent, trial.scenario, "hooks") or (trial.agent, trial.scenario) == ("gemini", "twins")
    if trial.scenario not in RECORDED or by_process:
        return
    recording = Recording(trial)
    rows = sorted(trial.hooks + told(trial.frames), key=lambda row: row["at"])
    run, is_over = 0, False
    for row in rows:
        while run + 1 < len(trial.states) and row["at"] > trial.ran[run].ended:
            recording.bring_all(run)
            run, is_over = run + 1, False
        names = [ran.run["name"] for ran in trial.ran] if len(trial.states) == 1 else [trial.ran[run].run["name"]]
        last = max(one["at"] for one in trial.model.served if one["run"] in names and not one["side"])
        # when the model is done, other files than the one that the hook names, as those of sub-agents, are whole
        if row["at"] > last and not is_over and "event" in row:
            is_over = True
            payload = document(row["stdin"])
            own = Path(payload.get("transcript_path") or payload.get("transcriptPath") or "")
            for file, content in trial.states[run].items():
                if file != own and recording.written.get(file) != content:
                    recording.bring(file, content)
        recording.event(row, run)
    recording.bring_all(run)
    sessions = [expected(trial, ident, one) for ident, one in served(trial).items()]
    recording.rows.append({"expect": sessions, "snapshots": snapshots_of(trial.agent, trial.scenario)})
    file = FIXTURES / trial.agent / f"{trial.scenario}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in [{"variables": recording.environments}, *recording.rows]))
