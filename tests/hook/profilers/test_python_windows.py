"""Python profiling windows in a recorded training."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import nn

from sonde.hook.profilers.python import Python
from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep
from sonde.read.python_profiles import ReadProfile, read_python_profiles
from sonde.read.workers import WorkerReader
from sonde.records.profile import ProfileKind, Window
from sonde.store.backends import open_backend
from tests.fakes.session import Recorded, watched


@dataclass
class Windowed:
    """A training of five steps with a Python window over two of them."""

    options: dict[str, str]
    refusal: str | None = None
    profiles: tuple[ReadProfile, ...] = ()
    helped: list[str] = field(default_factory=list)

    def helper(self, inputs: Any) -> Any:
        self.helped.append(threading.current_thread().name)
        threading.Event().wait(0.1)  # long enough to be sampled
        return inputs

    def train(self) -> None:
        with watched() as recorded:
            session = recorded.session
            profiler = Python(session)
            window = Window(ProfileKind.PYTHON, 1, 2, options=self.options)

            def after_step(step: FinishedStep) -> None:
                if step.number == 0:
                    self.refusal = profiler.begin(window)
                elif step.number == 2:
                    profiler.end(window)

            session.listeners.on_step("the window", after_step)
            model: Any = nn.Linear(4, 2)
            optimizer: Any = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(5):
                loss = model(self.helper(torch.ones(3, 4))).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        self.profiles = read(session, recorded)

    def functions(self) -> set[str]:
        return {
            function.name for profile in self.profiles for function in profile.profile.functions
        }


def read(session: Session, recorded: Recorded) -> tuple[ReadProfile, ...]:
    assert recorded.session is session
    assert session.store.worker.job_uri is not None
    damages: list[str] = []
    reader = WorkerReader(open_backend(session.store.worker.job_uri), 0, ())
    profiles = read_python_profiles(reader, damages)
    assert not damages
    return profiles


@contextmanager
def traced(kind: str) -> Iterator[None]:
    """Another tool traces or profiles this thread."""

    def trace(*_: object) -> None:
        """Does nothing."""

    {"trace": sys.settrace, "profile": sys.setprofile}[kind](trace)
    try:
        yield
    finally:
        sys.settrace(None)
        sys.setprofile(None)


@pytest.mark.parametrize("profiler", ["stacks", "cprofile"])
def test_python_window_records_the_functions_of_its_steps(profiler: str) -> None:
    windowed = Windowed({"profiler": profiler})
    windowed.train()
    [profile] = windowed.profiles
    assert profile.first_step == 1
    assert profile.steps == (("train", 1), ("train", 2))
    assert profile.profile.profiler == profiler
    assert "Windowed.helper" in windowed.functions()
    assert not any(
        "/sonde/" in function.file for function in profile.profile.functions if function.file
    )


def test_every_call_is_assigned_to_its_phase() -> None:
    windowed = Windowed({"profiler": "cprofile"})
    windowed.train()
    [profile] = windowed.profiles
    phases = {
        (profile.profile.functions[profile.profile.node_functions[node]].name, moment.phase)
        for time, node in zip(profile.profile.row_times, profile.profile.row_nodes, strict=True)
        for moment in [profile.moments[profile.times[time]]]
    }
    assert ("Linear.forward", "forward") in phases
    assert ("Linear.forward", "between") not in phases
    assert ("Windowed.helper", "between") in phases
    assert ("Windowed.helper", "forward") not in phases
    assert any(name.endswith("run_backward") and at == "backward" for name, at in phases)
    assert any(name == "SGD.step" and at == "optimizer" for name, at in phases)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("trace", "a debugger or coverage is running"), ("profile", "another profiler is running")],
)
@pytest.mark.parametrize("profiler", ["stacks", "cprofile"])
def test_window_is_refused_while_another_tool_traces_the_process(
    kind: str, reason: str, profiler: str
) -> None:
    windowed = Windowed({"profiler": profiler})
    with traced(kind):
        windowed.train()
    assert windowed.refusal is not None
    assert windowed.refusal.startswith(reason)
    assert windowed.profiles == ()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in Python 3.12")
def test_window_is_refused_while_a_monitoring_tool_is_active() -> None:
    if sys.version_info >= (3, 12):
        windowed = Windowed({})
        sys.monitoring.use_tool_id(sys.monitoring.COVERAGE_ID, "covering")
        try:
            windowed.train()
        finally:
            sys.monitoring.free_tool_id(sys.monitoring.COVERAGE_ID)
        assert windowed.refusal == "coverage is running (covering)"


def test_invalid_profiler_option_is_reported() -> None:
    windowed = Windowed({"timer": "lunar"})
    windowed.train()
    assert windowed.refusal == "timer = 'lunar' is invalid. Choose one of: total, cpu, off_cpu"
