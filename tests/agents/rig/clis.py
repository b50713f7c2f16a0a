"""The command-line agents: how each is set up and started, and where its transcripts are."""

import json
import os
import shutil
import subprocess
import uuid
from pathlib import Path

AGENTS = Path(os.environ["EMPIRICA_AGENTS"])


class Cli:
    """An agent in a repository, with a home and the port of its model."""

    name, program = "", ""

    def __init__(self, repo: Path, home: Path, port: int):
        self.repo, self.home, self.model = repo, home, f"http://127.0.0.1:{port}"

    @classmethod
    def is_installed(cls) -> bool:
        return (AGENTS / "bin" / cls.program).exists()

    def env(self) -> dict[str, str]:
        return {}

    def set_up(self) -> None:
        """Writes what its user would have answered and set."""

    def before_several(self, env: dict[str, str]) -> None:
        """Makes what two of it cannot make at once."""

    def command(self, run: dict, session: str | None) -> list[str]:
        """The command of a run; `session` is the agent's id of the session before."""
        raise NotImplementedError

    def session(self, printed: str, command: list[str]) -> str | None:
        """The agent's id of the session, by what it printed."""
        for line in printed.splitlines():
            try:
                return json.loads(line)[self.id_key]
            except (ValueError, KeyError, TypeError):
                continue
        return None

    def transcripts(self) -> list[Path]:
        raise NotImplementedError


class Claude(Cli):
    name, program, id_key = "claude-code", "claude", "session_id"

    def env(self):
        quiet = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "IS_SANDBOX")
        settings = {"ENABLE_TOOL_SEARCH": "false", "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"}
        return settings | {"ANTHROPIC_BASE_URL": self.model, "ANTHROPIC_API_KEY": "sk-ant-fake"} | dict.fromkeys(quiet, "1")

    def set_up(self):
        (self.home / ".claude").mkdir(exist_ok=True)
        (self.home / ".claude/settings.json").write_text(json.dumps({"enableAllProjectMcpServers": True}))
        if not (self.home / ".claude.json").exists():
            trusted = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["empirica"], "hasCompletedProjectOnboarding": True}
            folders = {str(folder): trusted for folder in (self.repo, self.repo / "src/deep")}
            (self.home / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True, "projects": folders}))

    def command(self, run, session):
        begun = {
            "new": ["--session-id", str(uuid.uuid4())],
            "resume": ["--resume", session],
            "continue": ["--continue"],
            "fork": ["--resume", session, "--fork-session"],
        }
        return ["claude", "-p", run["prompt"], "--output-format", "json", "--dangerously-skip-permissions", *begun[run["how"]]]

    def transcripts(self):
        return sorted((self.home / ".claude/projects").glob("**/*.jsonl"))


class Codex(Cli):
    name, program, id_key = "codex", "codex", "thread_id"

    def env(self):
        return {"CODEX_HOME": str(self.home / ".codex"), "FAKE_KEY": "sk-fake"}

    def set_up(self):
        folder = self.home / ".codex"
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(f'''model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
tools.update_plan.enabled = true
projects."{self.repo}".trust_level = "trusted"

[model_providers.fake]
name = "fake"
base_url = "{self.model}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
''')

    def command(self, run, session):
        begun = {"new": [], "resume": ["resume", session], "continue": ["resume", "--last"], "fork": ["fork", session]}
        flags = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", "--json", "-m", run.get("model", "gpt-5.5")]
        return ["codex", "exec", *flags, *begun[run["how"]], run["prompt"]]

    def transcripts(self):
        return sorted((self.home / ".codex/sessions").glob("**/*.jsonl"))


class Copilot(Cli):
    name, program, id_key = "copilot", "copilot", "sessionId"

    def env(self):
        provider = {"BASE_URL": self.model + "/v1", "TYPE": "openai", "API_KEY": "fake"}
        settings = {"COPILOT_MODEL": "gpt-4.1", "COPILOT_AUTO_UPDATE": "false", "COPILOT_OFFLINE": "true"}
        return settings | {f"COPILOT_PROVIDER_{key}": value for key, value in provider.items()}

    def set_up(self):
        (self.home / ".copilot").mkdir(exist_ok=True)
        (self.home / ".copilot/config.json").write_text(json.dumps({"trusted_folders": [str(self.repo)], "trustedFolders": [str(self.repo)]}))

    def command(self, run, session):
        begun = {"new": ["--session-id", str(uuid.uuid4())], "resume": [f"--resume={session}"], "continue": ["--continue"]}
        return ["copilot", "-p", run["prompt"], "--allow-all-tools", "--allow-all-paths", "--disable-builtin-mcps", "--output-format", "json", *begun[run["how"]]]

    def transcripts(self):
        folder = self.home / ".copilot/session-state"
        return sorted([*folder.glob("*/events.jsonl"), *folder.glob("*/session.db")])


class Gemini(Cli):
    name, program, id_key = "gemini", "gemini", "session_id"

    def env(self):
        settings = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_TELEMETRY_ENABLED": "false", "GEMINI_CLI_NO_RELAUNCH": "true"}
        return settings | {"GOOGLE_GEMINI_BASE_URL": self.model, "GEMINI_API_KEY": "fake"}

    def set_up(self):
        folder = self.home / ".gemini"
        folder.mkdir(exist_ok=True)
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"enableAutoUpdate": False}}
        settings |= {"privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}, "ide": {"enabled": False}}
        (folder / "settings.json").write_text(json.dumps(settings))
        (folder / "trustedFolders.json").write_text(json.dumps({str(self.repo): "TRUST_FOLDER"}))

    def command(self, run, session):
        begun = {"new": [], "resume": ["--resume", session], "continue": ["--resume", "latest"]}
        return ["gemini", "-p", run["prompt"], "--yolo", "--output-format", "json", "-m", "gemini-2.5-pro", *begun[run["how"]]]

    def session(self, printed, command):
        try:
            return json.loads(printed[printed.index("{") :])["session_id"]
        except (ValueError, KeyError):
            return None

    def transcripts(self):
        return sorted(file for file in (self.home / ".gemini/tmp").glob("*/chats/**/*") if file.is_file())


class OpenCode(Cli):
    name, program, id_key = "opencode", "opencode", "sessionID"

    def env(self):
        model = {"name": "fake-model", "limit": {"context": 200_000, "output": 8_000}}
        options = {"baseURL": self.model + "/v1", "apiKey": "fake"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": options, "models": {"fake-model": model}}
        config = {"model": "fake/fake-model", "small_model": "fake/fake-model", "autoupdate": False, "share": "disabled"}
        config |= {"enabled_providers": ["fake"], "provider": {"fake": provider}}
        quiet = ("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD")
        return {"OPENCODE_CONFIG_CONTENT": json.dumps(config)} | dict.fromkeys(quiet, "1")

    def set_up(self):
        # it installs the types of its plugins beside each configuration, which takes longer than a run
        ready = AGENTS / "opencode-plugin"
        for folder in (self.home / ".config/opencode", self.repo / ".opencode"):
            if ready.exists() and not (folder / "node_modules").exists():
                folder.mkdir(parents=True, exist_ok=True)
                for name in ("package.json", "package-lock.json"):
                    shutil.copy(ready / name, folder / name)
                (folder / "node_modules").symlink_to(ready / "node_modules")
        (self.repo / ".opencode/.gitignore").write_text("*\n!plugins/**\n")

    def before_several(self, env):
        # two that make its database at once fail
        subprocess.run(["opencode", "session", "list"], cwd=self.repo, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)

    def command(self, run, session):
        begun = {"new": [], "resume": ["--session", session], "continue": ["--continue"], "fork": ["--session", session, "--fork"]}
        # an argument with blanks would be sent with quotes
        return ["opencode", "run", "--format", "json", "--auto", *begun[run["how"]], *run["prompt"].split(" ")]

    def transcripts(self):
        return sorted((self.home / ".local/share/opencode").glob("opencode*.db"))


CLIS = {cli.name: cli for cli in (Claude, Codex, Copilot, Gemini, OpenCode)}
# the agent that works beside each, so that each is beside another
OTHER = dict(zip(CLIS, [*list(CLIS)[1:], *list(CLIS)[:1]]))
