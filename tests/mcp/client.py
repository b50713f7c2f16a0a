"""The official client on a server in a sandbox: calls that must succeed, and calls that must fail helpfully."""

import ast
import contextlib
import json
import re
import tempfile

import jsonschema
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from place import Sandbox, Repo

FAILURE_KEYS = ["ok", "error", "reason", "suggestion", "alternatives", "recovery_commands"]
CALL = re.compile(r"^([a-z_]+)\((.*)\)$", re.S)


class Client:
    """A connected client with the list of tools it was given."""

    def __init__(self, session: ClientSession, greeting: types.InitializeResult, repo: Repo):
        self.session, self.greeting, self.repo = session, greeting, repo
        self.tools: dict[str, types.Tool] = {}

    async def learn(self) -> "Client":
        self.tools = {tool.name: tool for tool in (await self.session.list_tools()).tools}
        return self

    async def raw(self, tool: str, arguments: dict | None = None) -> types.CallToolResult:
        """A call; the client itself checks a success against the tool's output schema."""
        return await self.session.call_tool(tool, arguments)

    async def ok(self, tool: str, **arguments: object) -> dict:
        """A call that must succeed."""
        result = await self.raw(tool, arguments)
        document = document_of(result)
        assert not result.isError, f"{tool}({arguments}) failed: {document}"
        assert document.get("ok") is True and document.get("status") == "success", document
        return document

    async def fails(self, tool: str, arguments: object = None, recover: bool = True) -> dict:
        """A call that must fail with all that a failure says, and with recovery commands that can be called."""
        result = await self.raw(tool, arguments)  # type: ignore[arg-type]
        document = document_of(result)
        assert result.isError, f"{tool}({arguments}) did not fail: {document}"
        for key in FAILURE_KEYS:
            assert key in document, f"{tool}({arguments}): {key} is missing: {document}"
        assert document["ok"] is False and document["status"] == "error", document
        for key in ["error", "suggestion"]:
            assert isinstance(document[key], str) and document[key].strip(), f"{tool}: {key} is empty: {document}"
        for key in ["alternatives", "recovery_commands"]:
            assert all(isinstance(item, str) for item in document[key]), document
        if recover:
            for command in document["recovery_commands"]:
                await self.recovers(command)
        return document

    async def recovers(self, command: str) -> dict:
        """A recovery command is a call of a tool that exists, with arguments that fit, and is carried out."""
        name, arguments = parsed(command)
        assert name in self.tools, f"{command}: there is no tool {name} among {sorted(self.tools)}"
        check = jsonschema.Draft202012Validator(self.tools[name].inputSchema)
        wrong = [error.message for error in check.iter_errors(arguments)]
        assert not wrong, f"{command} does not fit its schema: {wrong}"
        document = document_of(await self.raw(name, arguments))
        assert "do not fit" not in document.get("error", ""), f"{command} fails for its form: {document}"
        return document


def parsed(command: str) -> tuple[str, dict]:
    """`tool(name='text', n=1)` as a name and arguments; the literals are those of Python."""
    found = CALL.match(command)
    assert found, f"{command!r} is no call"
    call = ast.parse(command, mode="eval").body
    assert isinstance(call, ast.Call) and not call.args, f"{command!r} has arguments without names"
    return found[1], {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}


def document_of(result: types.CallToolResult) -> dict:
    """The document of a result, said as text and, when it is no failure, as structure alike."""
    texts = [item for item in result.content if isinstance(item, types.TextContent)]
    assert len(texts) == len(result.content) == 1, f"not one text: {result.content}"
    document = json.loads(texts[0].text)
    assert isinstance(document, dict), document
    assert result.structuredContent == document or (result.isError and result.structuredContent is None), result
    return document


@contextlib.asynccontextmanager
async def connected(repo: Repo, tools: str | None = "all", name: str = "test-client", cwd: object = None, **env: str):
    """A client on a new server in a repository; what the server says on standard error must be empty."""
    arguments = ["mcp", *(["--tools", tools] if tools else [])]
    command, rest = repo.place.command(*arguments, **env)
    server = StdioServerParameters(command=command, args=rest, cwd=str(cwd or repo.path))
    with tempfile.TemporaryFile("w+", dir=repo.place.path) as said:
        async with stdio_client(server, errlog=said) as (reading, writing):
            info = types.Implementation(name=name, version="1.0")
            async with ClientSession(reading, writing, client_info=info) as session:
                yield await Client(session, await session.initialize(), repo).learn()
        said.seek(0)
        errors = said.read()
        assert errors == "", f"the server said on standard error: {errors}"


@contextlib.asynccontextmanager
async def alone(tools: str | None = "all", **env: str):
    """A client on a server in a new repository with one commit."""
    with Sandbox() as place:
        async with connected(place.repo(), tools, **env) as client:
            yield client
