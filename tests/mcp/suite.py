"""Tests and their count: a test is a function of `case`; each `with case("…")` in it counts separately."""

import asyncio
import contextlib
import inspect
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator

# Whether tests run in their long form.
LONG = bool(os.environ.get("EMPIRICA_TEST_LONG"))
# The longest that one test function may take, in seconds.
LIMIT = 400
TESTS: list[Callable] = []


def test(function: Callable) -> Callable:
    """Marks a test."""
    TESTS.append(function)
    return function


def some(of_all: Iterable, number: int) -> list:
    """All in the long form, else every third, so that three numbers have them all."""
    return [one for at, one in enumerate(of_all) if LONG or at % 3 == number % 3]


def long_test(function: Callable) -> Callable:
    """Marks a test that runs in the long form only."""
    return test(function) if LONG else function


class Hang(BaseException):
    """A test that did not end; no test catches it."""


class Case:
    """Counts what passed and what failed."""

    def __init__(self) -> None:
        self.passed, self.failed, self.inside = 0, 0, 0

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self.inside += 1
        try:
            yield
        except Exception as error:
            self.fails(name, error)
        else:
            self.passed += 1

    def fails(self, name: str, error: BaseException) -> None:
        self.failed += 1
        print(f"FAILED {name}", flush=True)
        for line in shown(error).splitlines()[-12:]:
            print(f"    {line[:900]}", flush=True)


def shown(error: BaseException) -> str:
    """What went wrong; of a group, its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    where = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(own[-3:]))
    return f"{type(error).__name__} at {where}\n{error}"


def over(*_: object) -> None:
    raise Hang(f"it took more than {LIMIT} s")


def run(wanted: str) -> Case:
    """Runs the tests whose name contains `wanted`."""
    case = Case()
    signal.signal(signal.SIGALRM, over)
    for function in TESTS:
        name = f"{function.__module__}.{function.__name__}"
        if wanted not in name:
            continue
        began, before, case.inside = time.monotonic(), case.failed, 0
        signal.alarm(LIMIT)
        try:
            done = function(case)
            if inspect.iscoroutine(done):
                asyncio.run(done)
            case.passed += 1 if case.inside == 0 else 0
        except (Exception, Hang) as error:
            case.fails(name, error)
        finally:
            signal.alarm(0)
        took = time.monotonic() - began
        state = "ok" if case.failed == before else "FAILED"
        print(f"{state:6} {name} ({max(case.inside, 1)} cases, {took:.1f} s)", flush=True)
        sys.stdout.flush()
    return case
