"""The next generation of the official client, with and without the handshake; it runs in a separate interpreter."""

import json

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import Implementation
from mcp.types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

from place import Sandbox, Repo
from suite import test

CODEX = Implementation(name="codex-mcp-client", version="1")


def served(repo: Repo) -> StdioServerParameters:
    command, arguments = repo.place.command("mcp")
    return StdioServerParameters(command=command, args=arguments, cwd=str(repo.path))


def document(result) -> dict:
    said = json.loads(result.content[0].text)
    assert result.structured_content == said or (result.is_error and result.structured_content is None)
    return said


async def session(case, mode: str, client: Client) -> None:
    """A session as an agent has it, in all that the protocol offers."""

    async def ok(tool: str, **arguments: object) -> dict:
        result = await client.call_tool(tool, arguments)
        said = document(result)
        assert not result.is_error and said["ok"] is True and said["status"] == "success", said
        return said

    with case(f"{mode}: the list of tools"):
        tools = (await client.list_tools()).tools
        assert len(tools) == 45 and tools[0].name == "bootstrap_session"
    with case(f"{mode}: a session from begin to end"):
        own = (await ok("bootstrap_session", ai_id="ada", task="t"))["session_id"]
        await ok("execute_preflight", prompt="The parser")
        said = await ok("submit_preflight_assessment", vectors={"know": 0.6, "uncertainty": 0.7})
        assert "The parser" in said["auto_generated_goals"][0]["description"], said
        assert (await ok("log_finding", finding="f"))["session_id"] == own
        await ok("execute_check", findings=["g"], confidence_to_proceed=0.8)
        said = await ok("submit_check_assessment", vectors={"know": 0.7, "uncertainty": 0.5})
        assert said["confidence"] == 0.8 and said["safe_to_proceed"] is True
        await ok("submit_postflight_assessment", vectors={"know": 0.8, "uncertainty": 0.4})
        handoff = (await ok("generate_handoff_report", task_summary="done"))["report_id"]
        assert (await ok("end_session"))["session_id"] == own
    with case(f"{mode}: a session is named after the client"):
        assert (await ok("bootstrap_session"))["ai_id"] == "codex"
        await ok("end_session")
    with case(f"{mode}: a failure is a result"):
        result = await client.call_tool("log_finding", {"nonsense": 1})
        assert result.is_error and document(result)["ok"] is False and document(result)["suggestion"]
    with case(f"{mode}: an unknown tool is a result that says what to do"):
        result = await client.call_tool("log_findings", {"finding": "x"})
        assert result.is_error and "log_finding" in document(result)["alternatives"]
    with case(f"{mode}: resources"):
        listed = (await client.list_resources()).resources
        assert [str(one.uri) for one in listed] == [f"empirica://handoff/{handoff}"]
        assert (await client.list_resource_templates()).resource_templates
        assert "done" in (await client.read_resource(f"empirica://handoff/{handoff[-8:]}")).contents[0].text
    with case(f"{mode}: an unknown resource is refused"):
        try:
            await client.read_resource("empirica://handoff/ffffffff")
            raise AssertionError("it was read")
        except MCPError as error:
            assert error.error.code in (-32002, -32602), error.error
    with case(f"{mode}: prompts"):
        assert [one.name for one in (await client.list_prompts()).prompts] == ["hand-over", "take-up"]
        assert handoff[-8:] in (await client.get_prompt("take-up", {"ai_id": "ada"})).messages[0].content.text
    with case(f"{mode}: what a client may keep is not what another call changed"):
        await ok("bootstrap_session", ai_id="bob", task="t")
        await ok("generate_handoff_report", task_summary="more")
        assert len((await client.list_resources()).resources) == 2


@test
async def with_the_handshake(case) -> None:
    with Sandbox() as place:
        async with Client(served(place.repo()), mode="legacy", client_info=CODEX) as client:
            with case("the newest version with a handshake"):
                assert client.protocol_version == LATEST_HANDSHAKE_VERSION
            await session(case, "with the handshake", client)


@test
async def as_the_client_chooses(case) -> None:
    with Sandbox() as place:
        async with Client(served(place.repo()), mode="auto", client_info=CODEX) as client:
            with case("the newest version that both know"):
                assert client.protocol_version in (LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION)
            await session(case, f"as the client chooses ({client.protocol_version})", client)


@test
async def without_the_handshake(case) -> None:
    """A server either speaks the version without a handshake in all, or refuses it in a way that the client understands."""
    with Sandbox() as place:
        repo = place.repo()
        speaks = True
        with case("the version without a handshake is spoken or refused"):
            try:
                async with Client(served(repo), mode=LATEST_MODERN_VERSION) as client:
                    await client.list_tools()
            except MCPError as error:
                speaks = False
                assert error.error.code in (-32601, -32602, -32600, -32004, -32022), error.error
        if speaks:
            async with Client(served(repo), mode=LATEST_MODERN_VERSION, client_info=CODEX) as client:
                await session(case, "without the handshake", client)
