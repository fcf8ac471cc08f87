"""Trace decoding in a separate process, with a time limit at the end."""

import sys
from pathlib import Path

from sonde.agent.decoding import Decoder, decoding_command
from sonde.clock import SystemClock
from sonde.store import layout
from sonde.store.backends import open_backend
from tests.fakes.eventually import eventually


class Decoding:
    """A decoder whose command only records that it ran."""

    def __init__(self, tmp_path: Path, code: str = "pass") -> None:
        self.backend = open_backend(str(tmp_path / "job"))
        self._runs = tmp_path / "runs"
        mark = f"open({str(self._runs)!r}, 'a').write('x')"
        command = (sys.executable, "-S", "-c", f"{mark}\n{code}")
        self.decoder = Decoder(self.backend, command, SystemClock())

    @property
    def runs(self) -> int:
        return len(self._runs.read_text()) if self._runs.exists() else 0

    def leave_trace(self, step: int) -> None:
        key = layout.profile_key(0, "operators", step, "abcd")
        self.backend.write(key + layout.TRACE_FACTS_SUFFIX, b"{}")

    def is_over(self) -> bool:
        self.decoder.check()
        return not self.decoder._process.is_running()


def test_decoder_does_not_start_without_traces(tmp_path: Path) -> None:
    decoder = Decoding(tmp_path)
    decoder.decoder.check()
    decoder.decoder.finish(60)
    assert decoder.runs == 0


def test_a_trace_is_tried_once_while_the_job_runs(tmp_path: Path) -> None:
    decoder = Decoding(tmp_path)
    decoder.leave_trace(5)
    decoder.decoder.check()
    assert eventually(decoder.is_over)
    decoder.decoder.check()
    assert decoder.runs == 1
    assert decoder.decoder.cpu_seconds > 0
    decoder.leave_trace(50)
    decoder.decoder.check()
    decoder.decoder.finish(60)
    assert decoder.runs == 3  # once more at the end, since the traces are still there


def test_hanging_decoder_does_not_delay_the_end(tmp_path: Path) -> None:
    decoder = Decoding(tmp_path, "import time; time.sleep(600)")
    decoder.leave_trace(5)
    clock = SystemClock()
    started = clock.seconds()
    decoder.decoder.finish(0.2)
    assert clock.seconds() - started < 60


def test_the_command_decodes_that_node_only() -> None:
    words = decoding_command("/jobs/resnet", "node-a")
    assert words[1:] == (
        *("-P", "-m", "sonde", "compact", "/jobs/resnet"),
        *("--node", "node-a", "--traces", "--quiet"),
    )
