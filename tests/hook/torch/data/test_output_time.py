"""Time spent on output is recorded by script line."""

import builtins
import io
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from sonde.hook.session import Session
from sonde.hook.torch.data.output_time import OutputTime
from sonde.hook.torch.patching.patches import Patches
from sonde.settings import HookSettings, WorkerPlacement
from tests.fakes.clock import FakeClock


class SlowText(io.StringIO):
    """A file whose writes each take two milliseconds."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self.clock = clock

    def write(self, text: str) -> int:
        self.clock.advance(0.002)
        return super().write(text)


class Timed:
    """A session that times output of this thread, and its observations."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.file = SlowText(self.clock)
        self.session = Session(WorkerPlacement(node="node-a"), HookSettings(), self.clock)
        self.session.thread.claim()
        self.session.state.switch_on()
        self.patches = Patches()
        self.seconds: dict[tuple[str, str], float] = {}
        vars(self.session.recorder)["observe"] = self._observe
        output = OutputTime(self.session)
        output.attach(self.patches)
        self.session.listeners._begin[-1]()

    def _observe(self, _kind: str, subject: str, value: float, detail: str) -> None:
        self.seconds[subject.partition(" ")[0], json.loads(detail)["by"]] = value

    def flush(self) -> None:
        self.session.listeners.flush()


@pytest.fixture
def timed() -> Iterator[Timed]:
    original = builtins.print
    timed = Timed()
    yield timed
    timed.patches.undo()
    assert builtins.print is original


def print_slowly(file: Any, count: int = 5) -> None:
    for number in range(count):
        print("step", number, file=file, end="")


def log_slowly(file: Any) -> None:
    log = logging.getLogger("slow")
    handler = logging.StreamHandler(file)
    log.addHandler(handler)
    log.warning("%s", "a line")
    log.removeHandler(handler)


def test_printing_and_logging_are_recorded_with_their_lines(timed: Timed) -> None:
    print_slowly(timed.file)
    log_slowly(timed.file)
    timed.flush()
    assert timed.seconds == {
        ("print_slowly", "print"): pytest.approx(5 * 4 * 0.002),  # two words, a space, an end
        ("log_slowly", "logging"): pytest.approx(0.002),
    }
    assert timed.file.getvalue() == "step 0step 1step 2step 3step 4a line\n"


def test_a_printed_tensor_is_counted_once(timed: Timed) -> None:
    print(torch.ones(2), file=timed.file, end="")
    timed.flush()
    line = "test_a_printed_tensor_is_counted_once"
    assert timed.seconds == {(line, "print"): pytest.approx(2 * 0.002)}


def test_output_of_other_threads_or_outside_of_training_is_not_counted(timed: Timed) -> None:
    thread = threading.Thread(target=print_slowly, args=(timed.file,))
    thread.start()
    thread.join()
    timed.session.state.switch_off()
    print_slowly(timed.file)
    timed.flush()
    assert timed.seconds == {}


def test_exceptions_in_output_functions_are_raised(timed: Timed) -> None:
    timed.file.close()
    with pytest.raises(ValueError, match="closed file"):
        print_slowly(timed.file, 1)
    timed.file = SlowText(timed.clock)
    print_slowly(timed.file)
    timed.flush()
    assert timed.seconds
