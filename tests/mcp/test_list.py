"""The handshake and the lists of tools: versions, capabilities, names, annotations, schemas, size."""

import re

import jsonschema
from mcp import types

from client import alone, connected
from page import rows
from place import Sandbox
from raw import Raw
from suite import test

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
WRITES = re.compile(r"^(bootstrap_session|submit_|log_|resolve_|replace_|retract_|confirm_|undo_|execute_check|generate_(handoff|goals)|end_|create_|add_|complete_|accept_|sync_)")
SETTLES = {"generate_goals", "sync_notes"}


@test
async def greeting(case) -> None:
    async with alone() as client:
        hello = client.greeting
        with case("the newest version that both know"):
            assert hello.protocolVersion == types.LATEST_PROTOCOL_VERSION
        with case("name and version"):
            assert hello.serverInfo.name == "git-empirica" and re.match(r"\d+\.\d+\.\d+", hello.serverInfo.version)
        with case("capabilities are tools, resources and prompts"):
            said = hello.capabilities
            assert said.tools is not None and said.resources is not None and said.prompts is not None
            assert said.logging is None and said.completions is None and said.experimental is None
        with case("the instructions name tools that exist"):
            named = set(re.findall(r"\b[a-z]+_[a-z_]+\b", hello.instructions or "")) - {"session_id"}
            assert len(named) > 5 and named <= client.tools.keys(), named - client.tools.keys()
        with case("ping"):
            assert await client.session.send_ping() is not None


@test
async def core_greeting(case) -> None:
    async with alone("core") as client:
        with case("the instructions of core name only its tools"):
            named = set(re.findall(r"\b[a-z]+_[a-z_]+\b", client.greeting.instructions or "")) - {"session_id"}
            assert named <= client.tools.keys(), named - client.tools.keys()
        with case("a tool outside core is done all the same"):
            said = await client.ok("create_goal", objective="x")
            assert said["goal_id"], said


@test
async def names(case) -> None:
    page = rows()
    for option, expected in [
        ("all", [row["name"] for row in page]),
        ("core", [row["name"] for row in page if row["core"]]),
        (None, [row["name"] for row in page]),
    ]:
        async with alone(option) as client:
            with case(f"the names of --tools {option} are those of the page, in its order"):
                assert list(client.tools) == expected, set(client.tools) ^ set(expected)


@test
async def each_tool(case) -> None:
    async with alone() as client:
        for row in rows():
            tool = client.tools[row["name"]]
            given, made = tool.inputSchema, tool.outputSchema
            with case(f"{tool.name}: its schemas are JSON Schema 2020-12 of objects"):
                for schema in [given, made]:
                    jsonschema.Draft202012Validator.check_schema(schema)
                    assert schema["type"] == "object", schema
            with case(f"{tool.name}: its arguments are those of the page"):
                assert set(given["properties"]) == set(row["arguments"]), (given, row)
                assert set(given.get("required", [])) == {name for name, must in row["arguments"].items() if must}
                assert given.get("additionalProperties") is False, given
            with case(f"{tool.name}: its result's keys are those of the page"):
                assert set(row["keys"]) <= set(made["properties"]), (made, row)
            with case(f"{tool.name}: its annotations say what it does"):
                hints = tool.annotations
                assert hints is not None and bool(hints.readOnlyHint) != bool(WRITES.match(tool.name)), hints
                if not hints.readOnlyHint:
                    assert hints.destructiveHint is False and bool(hints.idempotentHint) == (tool.name in SETTLES), hints
            with case(f"{tool.name}: it is described in one line"):
                assert tool.description and "\n" not in tool.description and len(tool.description) < 200


@test
def versions(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        for version in VERSIONS:
            with case(f"version {version} is negotiated"), Raw(repo) as raw:
                assert raw.initialize(version)["protocolVersion"] == version
                tools = raw.ask("tools/list")["result"]["tools"]
                assert len(tools) == 45
                done = raw.call("bootstrap_session", ai_id="a")
                assert done["isError"] is False and done["structuredContent"]["ok"] is True
                assert raw.call("log_finding", finding="x")["isError"] is False
        for version in ["1999-01-01", "2099-12-31", "DRAFT", ""]:
            with case(f"version {version!r} is answered with one that the server has"), Raw(repo) as raw:
                assert raw.initialize(version)["protocolVersion"] in VERSIONS


@test
async def client_versions(case) -> None:
    """The official client itself, made to ask for each version."""
    original = types.LATEST_PROTOCOL_VERSION
    for version in VERSIONS:
        with case(f"the client connects with {version}"):
            try:
                types.LATEST_PROTOCOL_VERSION = version
                async with alone() as client:
                    assert client.greeting.protocolVersion == version
                    await client.ok("bootstrap_session", ai_id="a")
            finally:
                types.LATEST_PROTOCOL_VERSION = original


@test
async def name_of_the_client(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        with case("ai_id is, left out, the client's name"):
            async with connected(repo, name="some-agent") as client:
                assert (await client.ok("bootstrap_session"))["ai_id"] == "some-agent"
        with case("ai_id is, left out, EMPIRICA_AI before the client's name"):
            async with connected(repo, name="some-agent", EMPIRICA_AI="variable") as client:
                assert (await client.ok("bootstrap_session"))["ai_id"] == "variable"
        with case("ai_id is, left out, empirica.ai before the client's name"):
            repo.git("config", "empirica.ai", "configured")
            async with connected(repo, name="some-agent") as client:
                assert (await client.ok("bootstrap_session"))["ai_id"] == "configured"
        with case("ai_id that is given comes first"):
            async with connected(repo, name="some-agent") as client:
                assert (await client.ok("bootstrap_session", ai_id="given"))["ai_id"] == "given"
