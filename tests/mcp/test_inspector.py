"""The command line of the MCP inspector, which starts for each question; what it lists besides tools, in the long form."""

import json
import os
import subprocess

from place import PROGRAM, Sandbox, Repo
from suite import LONG, test

NODE = os.environ["EMPIRICA_NODE"]


def inspect(repo: Repo, *arguments: str) -> tuple[int, str, str]:
    """Runs the inspector on the server in a repository."""
    command = [f"{NODE}/node_modules/.bin/mcp-inspector", "--cli", PROGRAM, "mcp", *arguments]
    env = {**repo.place.env, "npm_config_cache": str(repo.place.path / "npm"), "npm_config_update_notifier": "false"}
    ran = subprocess.run(command, cwd=repo.path, env=env, capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stdout, ran.stderr


def asked(repo: Repo, method: str, *arguments: str) -> dict:
    code, out, err = inspect(repo, "--method", method, *arguments)
    assert code == 0, f"{method}: {code} {out} {err}"
    return json.loads(out)


def called(repo: Repo, tool: str, **arguments: object) -> dict:
    """The result of a call, failed or not."""
    words = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={value if isinstance(value, str) else json.dumps(value)}")]
    _, out, err = inspect(repo, "--method", "tools/call", "--tool-name", tool, *words)
    assert out, err
    return json.loads(out)


@test
def inspector(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        with case("tools/list"):
            tools = asked(repo, "tools/list")["tools"]
            assert len(tools) == 45 and tools[0]["name"] == "bootstrap_session"
        if LONG:
            with case("resources/list, nothing stored"):
                assert asked(repo, "resources/list")["resources"] == []
            with case("prompts/list"):
                assert [one["name"] for one in asked(repo, "prompts/list")["prompts"]] == ["hand-over", "take-up"]
        with case("tools/call in success"):
            said = called(repo, "bootstrap_session", ai_id="ada", task="Make it so")["structuredContent"]
            assert said["ok"] is True and said["ai_id"] == "ada"
        with case("tools/call with vectors, in another process: the session of the worktree"):
            said = called(repo, "submit_preflight_assessment", vectors={"know": 0.5, "uncertainty": 0.7})["structuredContent"]
            assert said["ok"] is True and said["recommendation"] == "investigate"
        with case("tools/call in failure"):
            said = called(repo, "submit_preflight_assessment", vectors={"knwo": 0.5})
            assert said.get("isError") is True and json.loads(said["content"][0]["text"])["alternatives"] == ["know"], said
        with case("a handoff"):
            said = called(repo, "generate_handoff_report", task_summary="Made")["structuredContent"]
            assert said["ok"] is True
            assert [one["title"] for one in asked(repo, "resources/list")["resources"]] == ["Made"]
        with case("resources/read"):
            read = asked(repo, "resources/read", "--uri", f"empirica://handoff/{said['report_id']}")
            assert "Made" in read["contents"][0]["text"]
        if LONG:
            with case("resources/templates/list"):
                assert asked(repo, "resources/templates/list")["resourceTemplates"]
        with case("prompts/get"):
            got = asked(repo, "prompts/get", "--prompt-name", "take-up", "--prompt-args", "ai_id=ada")
            assert "Made" in got["messages"][0]["content"]["text"]
