"""Lines that a script prints are recorded, and its streams behave as before."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import pytest

from sonde.hook.output_lines import OutputLines
from sonde.hook.session import Session
from sonde.records.log_line import OMITTED
from sonde.settings import hook_settings, worker_placement
from sonde.store.format import LOGS
from tests.fakes.clock import FakeClock


class Output(io.TextIOWrapper):
    """A stream as Python opens it for stdout."""

    def __init__(self) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, write_through=True)


@pytest.fixture
def session() -> Session:
    return Session(worker_placement(), hook_settings(), FakeClock())


@contextmanager
def streams(session: Session, stdout: Any = None) -> Iterator[tuple[Any, Any]]:
    """Record what is written to a stdout and stderr of their own."""
    output, errors = stdout or Output(), Output()
    with redirect_stdout(output), redirect_stderr(errors):
        OutputLines(session).install()
        yield output, errors


def recorded(session: Session) -> list[tuple[str, str]]:
    """Return stream and text of the lines recorded since the last call."""
    session.listeners.flush()
    rows = session.recorder.rows.of(LOGS)
    pairs = [(row[3], row[4]) for row in rows]
    rows.clear()
    return pairs


def test_lines_are_recorded_as_a_terminal_shows_them(session: Session) -> None:
    with streams(session) as (stdout, stderr):
        stdout.write("one 2\nno line")
        stdout.write(" yet")
        stderr.write("\r10%\r20%")
        stderr.write("\r30%\n\x1b[31mred\x1b[0m\n")
        assert recorded(session) == [("stdout", "one 2"), ("stderr", "30%"), ("stderr", "red")]
        session.listeners.end()
    assert stdout.bytes.getvalue() == b"one 2\nno line yet"
    assert recorded(session) == [("stdout", "no line yet")]
    assert "write" not in vars(stdout)


def test_a_write_returns_and_raises_what_the_stream_does(session: Session) -> None:
    with streams(session) as (stdout, _):
        assert stdout.write("four") == 4
        with pytest.raises(TypeError, match="must be str"):
            stdout.write(b"bytes")
        stdout.close()
        with pytest.raises(ValueError, match="closed file") as caught:
            stdout.write("late")
    assert all("hook/output_lines" not in str(entry.path) for entry in caught.traceback)


def test_of_much_output_the_first_megabyte_and_the_last_lines_are_kept(session: Session) -> None:
    with streams(session) as (stdout, _):
        for _ in range(1200):
            stdout.write(f"{'x' * 1000}\n")
        assert len(recorded(session)) <= 1050
        for number in range(1000):
            stdout.write(f"{number} {'y' * 100}\n")
        kept = recorded(session)
    assert kept[0][0] == OMITTED
    assert int(kept[0][1]) + len(kept) - 1 == 1000
    assert kept[-1][1].startswith("999 ")
    assert sum(len(text) for _, text in kept) <= 8300


def test_objects_in_place_of_streams_are_left_alone(session: Session) -> None:
    class Plain:
        __slots__ = ()

        def write(self, text: str) -> int:
            return len(text)

    with streams(session, Plain()) as (stdout, _):
        assert stdout.write("text") == 4
    assert recorded(session) == []
