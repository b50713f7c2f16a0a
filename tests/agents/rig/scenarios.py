"""What the scripted model does, run by run.

A run has the user's `prompt` and the model's `turns`. It begins as `new`, or by `resume`, `continue` or `fork` of the run before; `inside` is the folder it is started in,
`other` lets another agent do it, `model` chooses one of Codex, `all_tools` offers all tools. `plan` is what is left of the plan, `shows` what the start context has, and `warns`
that the last CHECK was unsafe; `knows` is what was logged about the file that its first turn reads. Runs that are `together` begin at once and `meet`.
"""

LOG = "log_finding"


def do(*acts: dict, say: str = "", **more) -> dict:
    return {"say": say, "do": list(acts), **more}


def say(text: str) -> dict:
    return {"say": text}


def shell(command: str, fails: bool = False) -> dict:
    return {"shell": command, "fails": fails}


def mcp(tool: str, **arguments) -> dict:
    return {"mcp": tool, "args": arguments}


def run(prompt: str, *turns: dict, **more) -> dict:
    return {"prompt": prompt, "turns": list(turns), "how": "new", **more}


def meeting(name: str, **more) -> dict:
    finding = f"{name.upper()}: the parser takes a tab for eight spaces"
    met = do(mcp(LOG, finding=finding), meet="both began")
    return run(f"You are {name}: find out what the parser does with tabs", do(shell(f"echo {name} begins")), met, {"say": "Done.", "meet": "both found"}, name=name, **more)


WORK = [
    run(
        "Add a greeting to the project in notes.txt and count its lines",
        do(shell("ls && git log --oneline | head -3"), say="I look around first."),
        do({"write": "notes.txt", "text": "hello\nworld\n"}),
        do({"read": "notes.txt"}),
        do({"edit": "notes.txt", "old": "world", "new": "everyone"}),
        do({"edit": "README.md", "old": "no such line anywhere", "new": "x", "fails": True}, say="This edit cannot work."),
        do(shell("echo checking; ls no-such-folder; exit 3", fails=True)),
        do(shell("false", fails=True)),
        do(shell("wc -l notes.txt")),
        say("The greeting stands in notes.txt; it has 2 lines."),
    )
]

FINDINGS = [
    run(
        "Find out why the cache of the parser is slow and hand over what you know",
        do(mcp("bootstrap_session", task="why is the cache of the parser slow")),
        do(mcp(LOG, finding="The cache of the parser is keyed by path and never evicted", impact=0.7), say="I found the reason."),
        do(mcp("log_dead_end", approach="A second cache before the first", why="It doubled the memory")),
        do(mcp("generate_handoff_report", task_summary="The reason is known, the change is not made", next_session_context="Bound the cache of the parser")),
        say("The reason is known and handed over."),
    )
]

PLAN = [
    run(
        "Make a plan for the new printer and begin with it",
        do({"plan": [("Read the old printer", "in_progress"), ("Write the new printer", "pending"), ("Remove the old printer", "pending")]}),
        do(shell("echo read")),
        do({"plan": [("Read the old printer", "completed"), ("Write the new printer", "in_progress"), ("Remove the old printer", "pending")]}),
        say("The first step is done."),
        plan=[("Write the new printer", "in_progress"), ("Remove the old printer", "pending")],
    )
]

FIRST = run(
    "Write the numbers one to three into numbers.txt",
    do(mcp(LOG, finding="The numbers are written one a line")),
    do({"write": "numbers.txt", "text": "1\n2\n3\n"}),
    say("numbers.txt has three lines."),
)


def second(how: str) -> list[dict]:
    again = do({"edit": "numbers.txt", "old": "3", "new": "3\n4"})
    return [FIRST, run("Now add the number four to the same file", do(shell("cat numbers.txt")), again, say("numbers.txt has four lines."), how=how)]


COMPACTION = [
    run("Count the words of all files", do(mcp(LOG, finding="The files have few words")), do(shell("wc -w README.md")), say("They are counted.")),
    # more tokens than any context has
    run(
        "Count their lines as well",
        do(shell("wc -l README.md"), tokens={"in": 975_000}),
        do(shell("echo after the compaction")),
        say("The lines are counted."),
        how="resume",
    ),
    run("Say what you counted", say("Words and lines."), how="resume"),
]

SUB_AGENT = [
    run(
        "Let a helper write the list of files, then check it",
        do(
            {
                "agent": "HELPER TASK: write the list of files to files.txt",
                "turns": [
                    do({"write": "files.txt", "text": "README.md\nsrc/deep/lib.txt\n"}, tokens={"in": 300, "out": 30, "cached": 10}),
                    do(shell("cat no-such-file-of-the-helper", fails=True), tokens={"in": 310, "out": 31, "cached": 10}),
                    {"say": "files.txt is written.", "tokens": {"in": 320, "out": 32, "cached": 10}},
                ],
            },
            say="A helper does it.",
        ),
        do({"wait": True}, shell("wc -l files.txt")),
        say("The list is there."),
        model="gpt-5.1-codex",
    )
]

SUBFOLDER = [
    run(
        "Say which folder this is and note it",
        do(shell("pwd")),
        do(shell("false", fails=True)),
        do(mcp(LOG, finding="The agent was started below the top")),
        say("This is a folder below the top."),
        inside="src/deep",
    )
]

CODE_MODE = [run(WORK[0]["prompt"], *WORK[0]["turns"][:2], do(mcp(LOG, finding="Scripts call the tools")), *WORK[0]["turns"][3:], model="gpt-6-sol")]

EMPTY = [
    run("Find out what the printer needs", do(mcp(LOG, finding="The printer needs a width")), say("It needs a width."), name="useful"),
    run("Say good morning", say("Good morning."), name="empty"),
    run("Go on with the printer", do(shell("echo on")), say("It goes on."), name="next", shows="The printer needs a width"),
]

DRIFT = [
    run(
        "Decide whether the parser can be replaced",
        do(mcp("bootstrap_session", task="replace the parser")),
        do(mcp("submit_preflight_assessment", vectors={"know": 0.8, "do": 0.8, "context": 0.8, "uncertainty": 0.2})),
        do(mcp("submit_check_assessment", vectors={"know": 0.3, "do": 0.3, "context": 0.2, "uncertainty": 0.9}, confidence_to_proceed=0.3)),
        say("It cannot be decided yet."),
        all_tools=True,
    ),
    run("Then replace it", say("Not yet."), how="resume", warns=True),
]

TOGETHER = [meeting("alpha"), meeting("beta", other=True)]
TWINS = [meeting("alpha"), meeting("beta")]

GUARD = [
    run(
        "Find out why the library is slow",
        do(mcp("log_dead_end", approach="A mutex around the printer", why="It waits for itself", at=["src/deep/lib.txt:2"])),
        say("The printer must not lock."),
    ),
    run(
        "Make the library faster",
        do({"read": "src/deep/lib.txt"}),
        do({"read": "src/deep/lib.txt"}),
        do({"edit": "src/deep/lib.txt", "old": "parser", "new": "fast parser"}),
        say("It is faster."),
        knows="A mutex around the printer — It waits for itself",
    ),
]

SCENARIOS = {
    "work": WORK,
    "findings": FINDINGS,
    "plan": PLAN,
    "resume": second("resume"),
    "continue": second("continue"),
    "fork": second("fork"),
    "compaction": COMPACTION,
    "sub-agent": SUB_AGENT,
    "subfolder": SUBFOLDER,
    "code-mode": CODE_MODE,
    "empty": EMPTY,
    "drift": DRIFT,
    "guard": GUARD,
    "together": TOGETHER,
    "twins": TWINS,
}
