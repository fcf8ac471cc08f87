"""Importing what the SageMaker profiler recorded: machines, traces, Horovod, Python."""

import json
import marshal
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.importers.smdebug_files.call_tree import parse_statistics, tree_of
from sonde.importers.smdebug_files.marshal_values import MarshalReader
from tests.fakes.recordings import imported
from tests.fakes.smdebug import FakeRecording, unpack_golden

START = 1_700_000_040  # a full minute
TRAIN = ("a.py", 1, "train")
STEP = ("a.py", 5, "step")
READ = ("~", 0, "<built-in method read>")
STATISTICS = {
    TRAIN: (1, 1, 1.0, 10.0, {}),
    STEP: (4, 4, 2.0, 9.0, {TRAIN: (4, 4, 2.0, 9.0)}),
    READ: (5, 5, 7.0, 7.0, {STEP: (4, 4, 7.0, 7.0), TRAIN: (1, 1, 0.0, 0.0)}),
}


def sample(seconds: float, name: str, dimension: str, value: float) -> str:
    kind = name[:3]
    entry = {"Type": kind, "Name": name, "Dimension": dimension, "Value": value}
    return json.dumps({**entry, "NodeId": "algo-1", "Timestamp": START + seconds}) + "\n"


def metrics_file(recording: FakeRecording, text: str, node: str = "algo-1") -> None:
    recording.write(f"profiler-output/system/incremental/2023111422/{START}.{node}.json", text)


def test_cores_and_gpus_become_metrics_with_a_mean_over_the_cores(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    lines = [
        sample(second, f"{kind}{device}", f"{kind.upper()}Utilization", 10 * second + device)
        for second in (0, 1)
        for kind in ("cpu", "gpu")
        for device in (0, 1)
    ]
    lines.append(sample(1, "gpu0", "GPUMemoryUtilization", 55))
    metrics_file(recording, "".join(lines))
    job = imported("smdebug", tmp_path / "run", tmp_path / "store").job
    rows = job.system("*").to_arrow().to_pylist()
    assert [row["cpu.utilization_percent"] for row in rows] == [0.5, 10.5]
    assert [row["cpu.utilization_percent/cpu1"] for row in rows] == [1, 11]
    assert [row["gpu.utilization_percent/gpu0"] for row in rows] == [0, 10]
    [unknown, memory] = [row["gpu.memory_used_percent/gpu0"] for row in rows]
    assert (math.isnan(unknown), memory) == (True, 55)
    assert job.nodes == ("algo-1",)


def test_metrics_without_an_equivalent_keep_their_names(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    entry = {"Type": "network", "Name": "ReceiveBytesPerSecond", "Dimension": "Algorithm"}
    metrics_file(recording, json.dumps({**entry, "Value": 7, "Timestamp": START}))
    job = imported("smdebug", tmp_path / "run", tmp_path / "store").job
    [row] = job.system("*").to_arrow().to_pylist()
    assert row["smdebug.network_algorithm_receive_bytes_per_second"] == 7


def test_unreadable_samples_are_counted_and_the_others_are_read(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    lines = sample(0, "cpu0", "CPUUtilization", 1) + "[]\n" + sample(1, "cpu0", "CPU", 2)[:-9]
    metrics_file(recording, lines)
    result = imported("smdebug", tmp_path / "run", tmp_path / "store")
    assert len(result.job.system("cpu.*").to_arrow()) == 1
    [remark] = result.intake.remarks
    assert remark.endswith(".algo-1.json has unreadable lines: 2")


def test_steps_and_phases_of_a_real_trace_have_their_modes_and_times(tmp_path: Path) -> None:
    recording = unpack_golden(tmp_path)
    job = imported("smdebug", recording, tmp_path / "store").job
    rows = job.steps(None).to_arrow().to_pylist()
    by_mode = {
        mode: [row["step"] for row in rows if row["mode"] == mode] for mode in ("train", "eval")
    }
    assert by_mode == {"train": [0, 1, 2, 3, 4, 5], "eval": [0, 1, 2, 3]}
    first = next(row for row in rows if row["mode"] == "train")
    assert first["seconds"] == pytest.approx(1.068045)
    assert first["forward"] == pytest.approx(1.068026)
    assert job.summary["start_time"] == "2026-11-19T20:26:38.747088Z"


def test_processes_of_one_host_are_workers_of_one_job(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    events = [
        {
            "name": "process_name",
            "ph": "M",
            "pid": 0,
            "args": {"start_time_since_epoch_in_micros": START * 1_000_000},
        },
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "Step:ModeKeys.TRAIN"}},
        {"name": "process_name", "ph": "M", "pid": 2, "args": {"name": "gpu_functions-dev:1"}},
        {
            "name": "Step:ModeKeys.TRAIN",
            "ph": "X",
            "pid": 1,
            "ts": 5,
            "dur": 100,
            "args": {"step_num": "3"},
        },
        {"name": "gemm", "ph": "X", "pid": 2, "ts": 10, "dur": 20},
    ]
    for process in (905, 906):
        for index, text in enumerate((json.dumps(events), json.dumps(events)[:-40])):
            name = f"{START}00000{index}_{process}-algo-1_pythontimeline.json"
            recording.write(f"framework/pevents/2023111422/{name}", text)
    result = imported("smdebug", tmp_path / "run", tmp_path / "store")
    lives = [(life.info.rank, life.info.node, life.info.pid) for life in result.job.lives]
    assert lives == [(0, "algo-1", 905), (1, "algo-1", 906)]
    [kernel, *_] = result.operations(1)
    assert (kernel["name"], kernel["device"], kernel["category"]) == ("gemm", "cuda:1", "kernel")
    assert kernel["start_ns"] == START * 10**9 + 10_000


def test_rotated_horovod_timelines_are_read(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    start = {"start_time_since_epoch_in_micros": START * 1_000_000}
    events = [
        {"name": "process_name", "ph": "M", "pid": 1, "args": start},
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "gradient"}},
        {"ph": "B", "name": "ALLREDUCE", "ts": 130, "pid": 1},
        {"ph": "E", "ts": 170, "pid": 1},
    ]
    recording.write(f"framework/pevents/2023111422/{START}_0-algo-1_horovod_timeline.json", events)
    [row] = imported("smdebug", tmp_path / "run", tmp_path / "store").operations()
    assert (row["name"], row["category"], row["lane"]) == ("ALLREDUCE", "collective", "gradient")
    assert row["start_ns"] == START * 10**9 + 130_000


def test_a_real_cprofile_file_has_the_times_of_its_functions(tmp_path: Path) -> None:
    recording = unpack_golden(tmp_path)
    job = imported("smdebug", recording, tmp_path / "store").job
    rows = job.python("cprofile").to_arrow().to_pylist()
    functions = {row["function"]: row for row in rows}
    assert sum(row["self_seconds"] for row in rows) == pytest.approx(0.02, abs=1e-6)
    assert functions["forward"]["file"].endswith(".py")


def test_calls_are_divided_over_their_callers() -> None:
    tree = tree_of(parse_statistics(STATISTICS))
    functions = [function.name for function in tree.functions]
    nodes = [
        (functions[number], tree.parents[node], tree.calls[node], tree.self_ns[node] / 1e9)
        for node, number in enumerate(tree.node_functions)
    ]
    assert nodes == [
        ("train", -1, 1, 1.0),
        ("step", 0, 4, 2.0),
        ("<built-in method read>", 0, 1, 0.0),
        ("<built-in method read>", 1, 4, 7.0),
    ]


def test_pyinstrument_profiles_become_stack_samples(tmp_path: Path) -> None:
    recording = FakeRecording(tmp_path / "run")
    inner = {"function": "load", "file_path_short": "a.py", "line_no": 3, "time": 0.02}
    root = {"function": "<module>", "file_path_short": "a.py", "line_no": 1, "time": 0.05}
    start = START * 1_000_000
    name = f"train-3-stepstart-{start}.5_train-3-forwardpassend-{start + 60_000}.5"
    folder = f"framework/pytorch/pyinstrument/2666-vm/{name}"
    recording.write(f"{folder}/python_stats.json", {"root_frame": {**root, "children": [inner]}})
    job = imported("smdebug", tmp_path / "run", tmp_path / "store").job
    rows = {row["function"]: row for row in job.python("stacks").to_arrow().to_pylist()}
    assert rows["load"]["self_seconds"] == pytest.approx(0.02)
    assert rows["<module>"]["total_seconds"] == pytest.approx(0.05)


def test_a_damaged_profile_is_reported(tmp_path: Path) -> None:
    recording = unpack_golden(tmp_path)
    [profile] = recording.rglob("python_stats")
    profile.write_bytes(profile.read_bytes()[:1000])
    result = imported("smdebug", recording, tmp_path / "store")
    [remark] = result.intake.remarks
    assert "python_stats cannot be read: truncated" in remark


PACKED = marshal.dumps(STATISTICS)


def test_marshalled_values_are_read_as_written() -> None:
    assert MarshalReader(PACKED).read() == STATISTICS
    long_values = ({"a": 1 << 40, "é": -(1 << 40)}, None, True, False, "x" * 300)
    assert MarshalReader(marshal.dumps(long_values)).read() == long_values


@given(st.integers(0, len(PACKED) - 1), st.integers(0, 255))
def test_a_damaged_profile_is_read_or_refused(offset: int, value: int) -> None:
    changed = PACKED[:offset] + bytes([value]) + PACKED[offset + 1 :]
    for data in (changed, PACKED[:offset]):
        try:
            tree_of(parse_statistics(MarshalReader(data).read()))
        except ValueError:
            continue
