"""The official TypeScript client, which also checks failures against the output schemas."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from page import rows
from place import Sandbox, Repo
from suite import test

SCRIPT = Path(__file__).with_name("typescript.mjs")


class Node:
    """The client in a process of node."""

    def __init__(self, repo: Repo):
        command, arguments = repo.place.command("mcp")
        self.process = subprocess.Popen(
            ["node", str(SCRIPT), os.environ["EMPIRICA_NODE"], str(repo.path), command, *arguments],
            env=repo.place.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.hello = self.read()

    def read(self) -> dict:
        line = self.process.stdout.readline()
        assert line, f"the client ended with {self.process.wait()}"
        return json.loads(line)

    def ask(self, method: str, **params: object) -> dict:
        self.process.stdin.write(json.dumps({"method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        return self.read()

    def call(self, tool: str, **arguments: object) -> dict:
        said = self.ask("callTool", name=tool, arguments=arguments)
        assert "result" in said, f"{tool}({arguments}): the client refused the answer: {said['refused']}"
        return said["result"]

    def ok(self, tool: str, **arguments: object) -> dict:
        result = self.call(tool, **arguments)
        assert not result.get("isError") and result["structuredContent"]["ok"] is True, result
        return result["structuredContent"]


@contextlib.contextmanager
def node(repo: Repo) -> Iterator[Node]:
    one = Node(repo)
    try:
        yield one
        one.process.stdin.close()
        assert one.process.wait(30) == 0
    finally:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        one.process.stdout.close()


@test
def typescript(case) -> None:
    with Sandbox() as place, node(place.repo()) as client:
        with case("the list of tools"):
            assert client.hello["tools"] == [row["name"] for row in rows()] and client.hello["instructions"]
        for row in rows():
            with case(f"a failure of {row['name']} reaches the agent with what to do"):
                result = client.call(row["name"], nonsense=1)
                assert result["isError"] is True, result
                said = json.loads(result["content"][0]["text"])
                assert said["ok"] is False and "nonsense" in said["error"] and said["suggestion"], said
        with case("a session from begin to end"):
            own = client.ok("bootstrap_session", ai_id="ada", task="t")["session_id"]
            client.ok("execute_preflight", prompt="t")
            client.ok("submit_preflight_assessment", vectors={"know": 0.5, "uncertainty": 0.7})
            client.ok("log_finding", finding="f")
            client.ok("execute_check")
            client.ok("submit_check_assessment", vectors={"know": 0.7, "uncertainty": 0.5})
            client.ok("create_git_checkpoint")
            client.ok("get_vector_diff", current_vectors={"know": 0.9})
            client.ok("submit_postflight_assessment", vectors={"know": 0.8, "uncertainty": 0.4})
            handoff = client.ok("generate_handoff_report", task_summary="Done")["report_id"]
            for tool in ["resume_previous_session", "bootstrap_project", "get_epistemic_state", "get_session_summary", "list_sessions",
                         "query_handoff_reports", "get_calibration_report", "query_bayesian_beliefs", "generate_efficiency_report",
                         "measure_token_efficiency", "query_goal_orchestrator", "check_drift_monitor", "load_git_checkpoint"]:
                client.ok(tool)
            assert client.ok("end_session")["session_id"] == own
        with case("resources and prompts"):
            assert client.ask("listResources")["result"]["resources"][0]["uri"] == f"empirica://handoff/{handoff}"
            assert "Done" in client.ask("readResource", uri=f"empirica://handoff/{handoff[-8:]}")["result"]["contents"][0]["text"]
            assert "Done" in client.ask("getPrompt", name="take-up", arguments={"ai_id": "ada"})["result"]["messages"][0]["content"]["text"]
            assert client.ask("readResource", uri="empirica://handoff/ffffffff")["refused"]["code"] in (-32002, -32602)
