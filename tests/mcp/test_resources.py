"""Handoffs as resources, page by page, and prompts."""

import json

from mcp import McpError
from pydantic import AnyUrl

from client import Client, alone, connected
from place import Sandbox
from suite import test

NAME = "empirica://handoff/"


async def refuses(call, code: int | None = None) -> McpError:
    """A request that the protocol refuses."""
    try:
        answer = await call
    except McpError as error:
        assert code is None or error.error.code == code, error.error
        assert error.error.message and "\n" not in error.error.message, error.error
        return error
    raise AssertionError(f"it was answered: {answer}")


async def handed_over(client: Client, task: str = "Port the parser") -> str:
    await client.ok("bootstrap_session", ai_id="ada", task=task)
    await client.ok("log_finding", finding="Tokens are interned")
    return (await client.ok("generate_handoff_report", task_summary=task, next_session_context="c"))["report_id"]


@test
async def resources(case) -> None:
    async with alone() as client:
        session = client.session
        with case("nothing stored is an empty list"):
            said = await session.list_resources()
            assert said.resources == [] and said.nextCursor is None
        handoff = await handed_over(client)
        listed = (await session.list_resources()).resources
        with case("a handoff is listed"):
            assert [str(one.uri) for one in listed] == [NAME + handoff]
            assert listed[0].mimeType == "text/markdown" and listed[0].title == "Port the parser" and "ada" in (listed[0].description or "")
        with case("the template names handoffs"):
            templates = (await session.list_resource_templates()).resourceTemplates
            assert [one.uriTemplate for one in templates] == [NAME + "{id}"] and templates[0].mimeType == "text/markdown"
        for form, name in [("whole", handoff), ("short", handoff[-8:]), ("of 4 characters", handoff[-4:])]:
            with case(f"a handoff is read by its {form} id"):
                contents = (await session.read_resource(AnyUrl(NAME + name))).contents
                assert len(contents) == 1 and contents[0].mimeType == "text/markdown" and str(contents[0].uri) == NAME + name
                assert contents[0].text.startswith("<records-") and "\n# Handoff" in contents[0].text and "Tokens are interned" in contents[0].text
        for name in ["ffffffff", "xyz", "", "../../etc/passwd", handoff + "0", "latest"]:
            with case(f"an unknown handoff {name!r} is refused"):
                error = await refuses(session.read_resource(AnyUrl(NAME + name)))
                assert error.error.code in (-32002, -32602), error.error
                assert error.error.data is None or "git empirica" not in json.dumps(error.error.data["recovery_commands"]), error.error
        for name in ["empirica://other/" + handoff, "file:///etc/passwd", "https://example.com/"]:
            with case(f"another resource {name!r} is refused"):
                await refuses(session.read_resource(AnyUrl(name)), -32002)
        with case("a later handoff supersedes an earlier one of its session"):
            later = (await client.ok("generate_handoff_report", task_summary="All of it"))["report_id"]
            assert [str(one.uri) for one in (await session.list_resources()).resources] == [NAME + later]
        with case("the earlier one can still be read"):
            assert "Port the parser" in (await session.read_resource(AnyUrl(NAME + handoff))).contents[0].text


def lines_of(commit: str, number: int) -> str:
    """A session and its handoff, as `export` writes them."""
    session, task = f"{number:08x}-2222-4333-8444-555555555555", f"Task {number}"
    rows = [("session_start", {"task": task, "worktree": "main", "place": "elsewhere"}), ("handoff", {"type": "epistemic", "task": task, "context": "c", "next_steps": ["n"]})]
    lines = []
    for at, (kind, rest) in enumerate(rows):
        head = {"v": 1, "id": f"019b7000-0000-7000-8000-{2 * number + at:012x}", "kind": kind, "session": session, "ai": "ada"}
        time = f"2026-02-01T{number // 60:02}:{number % 60:02}:0{at}.000Z"
        record = {**head, "at": time, "commit": commit, "tree": None, **rest}
        lines.append(json.dumps({"commit": commit, "record": record}) + "\n")
    return "".join(lines)


@test
async def pages(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        repo.run("import", "--jsonl", "-", text="".join(lines_of(repo.git("rev-parse", "HEAD"), number) for number in range(101)))
        async with connected(repo) as client:
            first = await client.session.list_resources()
            with case("a page has 100, newest first"):
                assert len(first.resources) == 100 and first.nextCursor is not None
                assert [one.title for one in first.resources] == [f"Task {number}" for number in range(100, 0, -1)]
            second = await client.session.list_resources(cursor=first.nextCursor)
            with case("the second page has the rest, and is the last"):
                assert [one.title for one in second.resources] == ["Task 0"] and second.nextCursor is None
            for cursor in ["nonsense", "-1", "", "1.5", "99999999999999999999999"]:
                with case(f"the cursor {cursor!r} is refused"):
                    await refuses(client.session.list_resources(cursor=cursor), -32602)
            with case("a cursor beyond the end is an empty page, or refused"):
                try:
                    said = await client.session.list_resources(cursor="5000")
                    assert said.resources == [] and said.nextCursor is None
                except McpError as error:
                    assert error.error.code == -32602
            with case("resume_previous_session takes 5 at most"):
                said = await client.ok("resume_previous_session", resume_mode="last_n", count=5)
                assert said["total_sessions"] == 5 and [one["task"] for one in said["sessions"]] == [f"Task {n}" for n in range(100, 95, -1)]
            with case("query_handoff_reports has 10, and says how many there are"):
                said = await client.ok("query_handoff_reports")
                assert len(said["reports"]) == 10 and said["total_found"] == 101


@test
async def prompts(case) -> None:
    async with alone() as client:
        session = client.session
        listed = {one.name: one for one in (await session.list_prompts()).prompts}
        with case("the prompts are hand-over and take-up"):
            assert list(listed) == ["hand-over", "take-up"]
            assert [one.name for one in listed["hand-over"].arguments or []] == ["to", "session_id"]
            assert [one.name for one in listed["take-up"].arguments or []] == ["ai_id", "session_id"]
            assert all(one.description and one.title for one in listed.values())
            assert not any(argument.required for one in listed.values() for argument in one.arguments or [])
        with case("hand-over without a session is refused"):
            error = await refuses(session.get_prompt("hand-over"))
            assert "no active session" in error.error.message and error.error.data["recovery_commands"], error.error
        with case("resume where nothing is stored says so"):
            text = (await session.get_prompt("take-up")).messages[0].content.text
            assert "Nothing" in text, text
        handoff = await handed_over(client)
        for name, arguments in [
            ("hand-over", None), ("hand-over", {}), ("hand-over", {"to": "bob"}), ("hand-over", {"to": "", "session_id": ""}),
            ("hand-over", {"session_id": "latest:ada"}), ("take-up", None), ("take-up", {"ai_id": "ada"}),
            ("take-up", {"session_id": "latest"}), ("take-up", {"ai_id": "ada", "session_id": "latest:active"}),
        ]:
            with case(f"{name} with {arguments}"):
                said = await session.get_prompt(name, arguments)
                assert len(said.messages) == 1 and said.messages[0].role == "user"
                text = said.messages[0].content.text
                assert "Tokens are interned" in text and "{{" not in text and "{%" not in text, text
                if name == "hand-over":
                    assert "generate_handoff_report" in text and (not (arguments or {}).get("to") or "bob" in text), text
                else:
                    assert handoff[-8:] in text or handoff in text, text
        with case("hand-over stores nothing"):
            assert (await client.ok("query_handoff_reports"))["total_found"] == 1
        for name, arguments, word in [
            ("hand-over", {"nonsense": "x"}, "nonsense"),
            ("take-up", {"to": "bob"}, "to"),
            ("take-up", {"session_id": "latest:nobody"}, "nobody"),
            ("hand-over", {"session_id": "ffffffff"}, "ffffffff"),
            ("nonsense", {}, "nonsense"),
        ]:
            with case(f"{name} with {arguments} is refused"):
                error = await refuses(session.get_prompt(name, arguments))
                assert word in error.error.message and error.error.code in (-32602, -32002), error.error
        with case("the prompts name no command of a shell"):
            for name in listed:
                text = (await session.get_prompt(name)).messages[0].content.text
                assert "git empirica" not in text, text


@test
async def templates_of_the_user(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        folder = place.path / "templates"
        folder.mkdir()
        (folder / "prompt-take-up.md").write_text("Own words for {{ handoff_id }}\n")
        repo.git("config", "empirica.templateDir", str(folder))
        async with connected(repo) as client:
            handoff = await handed_over(client)
            with case("a template of the user's takes the place of ours"):
                text = (await client.session.get_prompt("take-up")).messages[0].content.text
                assert text == f"Own words for {handoff}\n" or text == f"Own words for {handoff}", text
            with case("one that cannot be read is told"):
                (folder / "prompt-take-up.md").write_text("{% nonsense")
                error = await refuses(client.session.get_prompt("take-up"))
                assert "prompt-take-up.md" in error.error.message, error.error
            with case("a resource is in the words of the user's template, or ours"):
                assert (await client.session.read_resource(AnyUrl(NAME + handoff))).contents[0].text
