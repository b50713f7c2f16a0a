"""What a turn of the model does, in the tools that an agent offers."""

import json
import os
import re
from dataclasses import dataclass, field

SHELLS = ("Bash", "exec_command", "shell_command", "run_shell_command", "bash", "shell", "local_shell")
BOX = {"completed": "x", "in_progress": "-", "pending": " "}


@dataclass
class Tools:
    """The tools of a request: their names, the schemas of their arguments, and which take a plain text."""

    names: list[str]
    schemas: dict
    plain: set[str] = field(default_factory=set)

    def one_of(self, *wanted: str) -> str | None:
        return next((name for name in wanted if name in self.names), None)

    def ending(self, name: str) -> str | None:
        return next((one for one in self.names if re.search(r"(^|[_\-./:])" + re.escape(name) + "$", one)), None)

    def arguments(self, name: str | None) -> set[str]:
        return set((self.schemas.get(name) or {}).get("properties") or {})

    def shell(self) -> str | None:
        return self.one_of(*SHELLS)

    def is_code_mode(self) -> bool:
        return "exec" in self.names and not self.shell()


@dataclass
class Call:
    """A call of a tool: its arguments are an object, or a text; `category` is what the program should count it as."""

    tool: str
    arguments: dict | str
    category: str
    fails: bool = False
    file: str | None = None


class NoTool(Exception):
    """The agent offers no tool for an act."""


def code(script: str) -> tuple[str, str]:
    return "exec", script


def patch(act: dict) -> str:
    def lines(sign: str, text: str) -> str:
        return "".join(f"\n{sign}{line}" for line in text.rstrip("\n").split("\n"))

    if "write" in act:
        change = f"*** Add File: {act['write']}{lines('+', act['text'])}"
    else:
        change = f"*** Update File: {act['edit']}\n@@{lines('-', act['old'])}{lines('+', act['new'])}"
    return f"*** Begin Patch\n{change}\n*** End Patch\n"


def shell(act: dict, tools: Tools) -> tuple[str, dict | str]:
    name = tools.shell()
    command = act["shell"]
    if tools.is_code_mode():
        return code(f"const r = await tools.exec_command({{cmd: {json.dumps(command)}}}); text(r.output ?? r);")
    if not name:
        raise NoTool("shell")
    arguments = {"cmd" if name == "exec_command" else "command": ["bash", "-lc", command] if name == "shell" else command}
    if "description" in tools.arguments(name):
        arguments["description"] = "Run a command"
    return name, arguments


def read(act: dict, tools: Tools, folder: str) -> Call:
    name = tools.one_of("Read", "read_file", "read", "view")
    if not name:
        return Call(*shell({"shell": f"cat {act['read']}"}, tools), "shell")
    key = {"Read": "file_path", "read_file": "file_path", "read": "filePath", "view": "path"}[name]
    return Call(name, {key: os.path.join(folder, act["read"])}, "read")


def change(act: dict, tools: Tools, folder: str) -> Call:
    """A write or an edit of a file."""
    file = act.get("write") or act["edit"]
    path = os.path.join(folder, file)
    name = tools.one_of("Write", "write_file", "write", "create") if "write" in act else tools.one_of("Edit", "replace", "edit")
    if name:
        keys = tools.arguments(name)
        at = next(key for key in ("file_path", "filePath", "path") if key in keys)
        given = {at: path}
        for key, *others in (("text", "content", "file_text"), ("old", "old_string", "oldString", "old_str"), ("new", "new_string", "newString", "new_str")):
            if key in act:
                given[next(other for other in others if other in keys)] = act[key]
        if "instruction" in keys:
            given["instruction"] = "Change it"
        return Call(name, given, "write" if "write" in act else "edit", act.get("fails", False), file)
    text = patch(act)
    if "apply_patch" in tools.plain:
        made = ("apply_patch", text)
    elif tools.one_of("apply_patch"):
        key = next((key for key in ("patchText", "input", "patch") if key in tools.arguments("apply_patch")), "input")
        made = ("apply_patch", {key: text})
    elif tools.is_code_mode():
        made = code(f"const r = await tools.apply_patch({json.dumps(text)}); text(r.output ?? r);")
    else:
        return Call(*shell({"shell": f"apply_patch <<'PATCH'\n{text}PATCH"}, tools), "shell", act.get("fails", False), file)
    return Call(*made, "edit", act.get("fails", False), file)


def plan(items: list[tuple[str, str]], tools: Tools, memory: dict) -> list[tuple[str, dict]]:
    """The calls that set a plan: pairs of a text and a state."""
    if tools.one_of("TodoWrite"):
        return [("TodoWrite", {"todos": [{"content": text, "activeForm": text, "status": state} for text, state in items]})]
    if tools.one_of("update_plan"):
        return [("update_plan", {"plan": [{"step": text, "status": state} for text, state in items]})]
    if tools.one_of("write_todos"):
        return [("write_todos", {"todos": [{"description": text, "status": state} for text, state in items]})]
    if tools.one_of("todowrite"):
        return [("todowrite", {"todos": [{"content": text, "status": state, "priority": "medium", "id": str(n)} for n, (text, state) in enumerate(items, 1)]})]
    if tools.one_of("TaskCreate"):
        calls, new = [], [text for text, _ in items if text not in memory]
        for text in new:
            memory[text] = str(len(memory) + 1)
            calls.append(("TaskCreate", {"subject": text, "description": text}))
        # an id is known once its task is made
        return calls or [("TaskUpdate", {"taskId": memory[text], "status": state}) for text, state in items]
    if tools.one_of("update_todo"):
        return [("update_todo", {"todos": "\n".join(f"- [{BOX[state]}] {text}" for text, state in items)})]
    if tools.one_of("sql"):
        rows = ", ".join(f"('t{n}', '{text}', '{text}', '{'done' if state == 'completed' else state}')" for n, (text, state) in enumerate(items, 1))
        return [("sql", {"description": "Plan", "query": f"INSERT OR REPLACE INTO todos (id, title, description, status) VALUES {rows}"})]
    raise NoTool("plan")


def delegate(task: str, tools: Tools) -> tuple[str, dict]:
    """Gives a task to a sub-agent."""
    name = tools.one_of("Agent", "Task", "task", "spawn_agent", "invoke_agent", "generalist") or tools.ending("spawn_agent")
    keys = tools.arguments(name)
    if not name:
        raise NoTool("agent")
    if name in ("Agent", "Task"):
        waits = {"run_in_background": False} if "run_in_background" in keys else {}
        return name, {"description": "Look into it", "prompt": task, "subagent_type": "general-purpose", **waits}
    if name == "task" and "agent_type" in keys:
        return name, {"agent_type": "general-purpose", "name": "helper", "description": "Look into it", "prompt": task, "mode": "sync"}
    if name == "task":
        return name, {"description": "Look into it", "prompt": task, "subagent_type": "general"}
    if name == "invoke_agent":
        return name, {"agent_name": "generalist", "prompt": task}
    if name == "generalist":
        return name, {"request": task}
    more = {key: value for key, value in (("task_name", "helper"), ("fork_turns", "none")) if key in keys}
    return name, {"message": task, **more}


def wait(tools: Tools, agents: list[str]) -> list[tuple[str, dict]]:
    """Only Codex has to wait for its sub-agents."""
    name = tools.ending("wait_agent")
    if not name:
        return []
    keys = tools.arguments(name)
    arguments = {"timeout_ms": 20000} if "timeout_ms" in keys else {}
    return [(name, arguments | {key: agents for key in ("targets", "ids") if key in keys})]


def completion(text: str, tools: Tools) -> list[Call]:
    """A sub-agent of Gemini CLI says by a call that it is done."""
    name = tools.one_of("complete_task")
    return [Call(name, {"result": {"response": text}}, "mcp")] if name else []


def calls(act: dict, tools: Tools, folder: str, memory: dict, agents: list[str]) -> list[Call]:
    """The calls of one act of a scenario; paths are below `folder`, `memory` is kept for the whole script."""
    if "shell" in act:
        return [Call(*shell(act, tools), "shell", act.get("fails", False))]
    if "read" in act:
        return [read(act, tools, folder)]
    if "write" in act or "edit" in act:
        return [change(act, tools, folder)]
    if "mcp" in act:
        name = tools.ending(act["mcp"])
        if not name and tools.is_code_mode():
            script = f"const r = await tools.mcp__empirica__{act['mcp']}({json.dumps(act['args'])}); text(JSON.stringify(r));"
            return [Call(*code(script), "mcp")]
        if not name and tools.one_of("tool_search"):  # it is offered, but not listed
            name = f"mcp__empirica.{act['mcp']}"
        if not name:
            raise NoTool(act["mcp"])
        return [Call(name, act["args"], "mcp")]
    if "plan" in act:
        return [Call(*call, "plan") for call in plan(act["plan"], tools, memory)]
    if "agent" in act:
        return [Call(*delegate(act["agent"], tools), "task")]
    if "wait" in act:
        return [Call(*call, "wait") for call in wait(tools, agents)]
    raise ValueError(f"no such act: {act}")
