import json
from typing import Any

import pytest

from sonde.exports import Selection
from sonde.records.python_profile import PythonProfiler
from tests.exports.selections import export
from tests.fakes.job import FakeJob
from tests.fakes.python_profile import FakeProfile

MAIN = ("main", "/home/user/train.py", 10)
LOAD = ("load", "/home/user/data.py", 4)
READ = ("io.read", "", 5)


def exported(profiler: PythonProfiler) -> dict[str, Any]:
    job = FakeJob()
    worker = job.worker()
    profile = FakeProfile(worker)
    if profiler is PythonProfiler.STACKS:
        profile.add_samples((MAIN, LOAD, READ), 2).add_samples((MAIN,), 3).add_samples(
            (LOAD,), 5, "prefetch"
        )
    else:
        profile.add_calls((MAIN, LOAD, READ), 0.001, 2_000_000).add_calls((MAIN,), 0.004, 3_000_000)
    worker.step(0, {"data_wait": 0.002, "forward": 0.003})
    profile.write(profiler)
    worker.flush()
    windows = job.job().python(profiler.value).windows
    text = export("speedscope", Selection("resnet", (), (), python=windows))
    document = json.loads(text)
    assert isinstance(document, dict)
    return document


def check(document: dict[str, Any]) -> None:
    """Check every field against the speedscope format."""
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert document.keys() == {
        *("$schema", "exporter", "name", "activeProfileIndex", "shared", "profiles")
    }
    assert 0 <= document["activeProfileIndex"] < len(document["profiles"])
    assert document["shared"].keys() == {"frames"}
    frames = document["shared"]["frames"]
    for frame in frames:
        assert {"name"} <= frame.keys() <= {"name", "file", "line", "col"}
        assert isinstance(frame["name"], str)
        assert type(frame.get("line", 0)) is int
    assert len({json.dumps(frame) for frame in frames}) == len(frames)
    for profile in document["profiles"]:
        assert profile.keys() == {
            *("type", "name", "unit", "startValue", "endValue", "samples", "weights")
        }
        assert (profile["type"], profile["unit"]) == ("sampled", "nanoseconds")
        assert len(profile["samples"]) == len(profile["weights"]) > 0
        assert all(type(item) is int and item >= 0 for item in profile["weights"])
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        for stack in profile["samples"]:
            assert all(type(item) is int and 0 <= item < len(frames) for item in stack)


def weights_by_stack(document: dict[str, Any]) -> dict[str, list[tuple[list[str], int]]]:
    names = [frame["name"] for frame in document["shared"]["frames"]]
    return {
        profile["name"]: [
            ([names[name_index] for name_index in stack], weight)
            for stack, weight in zip(profile["samples"], profile["weights"], strict=True)
        ]
        for profile in document["profiles"]
    }


@pytest.mark.parametrize("profiler", list(PythonProfiler))
def test_the_document_follows_the_speedscope_format(profiler: PythonProfiler) -> None:
    check(exported(profiler))


@pytest.mark.parametrize("profiler", list(PythonProfiler))
def test_stacks_are_ordered_by_time_under_their_phase(profiler: PythonProfiler) -> None:
    training = weights_by_stack(exported(profiler))["worker 0, training, steps 0 to 0"]
    assert training == [
        (["train: data_wait", "main", "load", "io.read"], 2_000_000),
        (["train: forward", "main"], 3_000_000),
    ]


def test_every_thread_has_a_profile() -> None:
    result = weights_by_stack(exported(PythonProfiler.STACKS))
    assert result["worker 0, prefetch, steps 0 to 0"] == [(["load"], 5_000_000)]
