import pytest

from sonde.errors import UsageError
from sonde.records.python_profile import PythonProfiler
from tests.fakes.job import FakeJob
from tests.fakes.python_profile import FakeProfile
from tests.fakes.worker import FakeWorker

MAIN = ("main", "/home/user/train.py", 10)
HELPER = ("augment", "/home/user/helper.py", 5)
MODEL = ("Linear.forward", "/env/lib/python3.11/site-packages/torch/nn/modules/linear.py", 125)
SLEEP = ("time.sleep", "", 5)


def steps(worker: FakeWorker, *data_seconds: float) -> None:
    """Record steps that wait for data and then compute for 4 milliseconds."""
    for number, seconds in enumerate(data_seconds):
        worker.step(number, {"data_wait": seconds, "forward": 0.004})


def profiled() -> FakeJob:
    """Record three steps; the second one waits ten times as long, in a helper function."""
    job = FakeJob()
    worker = job.worker()
    profile = FakeProfile(worker)
    for waits in (2, 20, 2):
        profile.add_samples((MAIN, HELPER), waits).add_samples((MAIN, MODEL), 4)
    steps(worker, 0.002, 0.020, 0.002)
    profile.write()
    worker.flush()
    job.end()
    return job


def test_functions_have_self_and_total_time() -> None:
    [helper, model, main] = profiled().job().python().top().to_arrow().to_pylist()
    assert (helper["function"], helper["file"], helper["line"]) == HELPER
    assert helper["self_seconds"] == pytest.approx(0.024)
    assert helper["self_percent"] == pytest.approx(100 * 24 / 36)
    assert helper["looks"] == 24
    assert model["total_seconds"] == pytest.approx(0.012)
    assert (main["self_seconds"], main["total_percent"]) == (0, pytest.approx(100))


def test_a_recursive_function_is_counted_once() -> None:
    job = FakeJob()
    worker = job.worker()
    profile = FakeProfile(worker).add_samples((MAIN, HELPER, HELPER, HELPER), 3)
    worker.step(0, {"forward": 0.003})
    profile.write()
    worker.flush()
    [helper] = [row for row in job.job().python().by("function").rows if row.name == "augment"]
    assert helper.total_seconds == helper.self_seconds == pytest.approx(0.003)


def test_time_is_split_by_phase_and_step() -> None:
    job = profiled().job()
    assert [row.name for row in job.python(phase="data_wait").top().rows] == ["augment", "main"]
    assert [row.name for row in job.python(phase="forward").top().rows] == [
        "Linear.forward",
        "main",
    ]
    [helper, *_] = job.python(steps=(1, 2)).top().rows
    assert helper.self_seconds == pytest.approx(0.020)
    assert job.python().phases() == {
        ("train", "data_wait"): pytest.approx(0.024),
        ("train", "forward"): pytest.approx(0.012),
    }


def test_cause_of_a_slow_step_comes_first() -> None:
    outliers = profiled().job().python().outliers()
    assert outliers.slow == ((0, 1),)
    first = outliers.to_arrow().to_pylist()[0]
    assert (first["function"], first["where"]) == ("augment", "/home/user/helper.py:5")
    assert first["slow_steps_self_seconds"] == pytest.approx(0.020)
    assert first["other_steps_self_seconds"] == pytest.approx(0.002)


def test_an_evaluation_makes_its_training_step_slow() -> None:
    job = FakeJob()
    worker = job.worker()
    profile = FakeProfile(worker).add_samples((MAIN, MODEL), 8).add_samples((MAIN, HELPER), 20)
    profile.add_samples((MAIN, MODEL), 4)
    worker.step(0, {"forward": 0.004}).step(1, {"forward": 0.004})
    worker.span("forward", 0, 0.020, 0, mode="eval")
    worker.span("step", 0, 0.020, 0, "step", mode="eval")
    worker.step(2, {"evaluation": 0.020, "forward": 0.004})
    profile.write()
    worker.flush()
    outliers = job.job().python().outliers()
    assert outliers.slow == ((0, 2),)
    assert outliers.rows[0].function.name == "augment"


def test_similar_steps_have_no_outliers() -> None:
    job = FakeJob()
    worker = job.worker()
    profile = FakeProfile(worker).add_samples((MAIN, HELPER), 18)
    steps(worker, 0.002, 0.002, 0.002)
    profile.write()
    worker.flush()
    assert len(job.job().python().outliers()) == 0


def test_the_longest_of_widely_varying_steps_is_no_outlier() -> None:
    job = FakeJob()
    worker = job.worker()
    profile = FakeProfile(worker).add_samples((MAIN, HELPER), 60)
    steps(worker, 0.002, 0.006, 0.010, 0.014, 0.018)
    profile.write()
    worker.flush()
    assert job.job().python().outliers().slow == ()
    assert len(job.job().steps().outliers()) == 0


def test_modes_are_compared_step_by_step() -> None:
    job = FakeJob()
    worker = job.worker()
    profile = FakeProfile(worker).add_samples((MAIN, MODEL), 4).add_samples((MAIN, HELPER), 6)
    worker.step(0, {"forward": 0.004})
    worker.step(0, {"forward": 0.003}, mode="eval").step(1, {"forward": 0.003}, mode="eval")
    profile.write()
    worker.flush()
    modes = job.job().python().modes()
    assert modes.groups == ("eval", "train")
    rows = {row.function.name: row.self_seconds for row in modes.rows}
    assert list(rows["Linear.forward"]) == pytest.approx([0, 0.004])
    assert list(rows["augment"]) == pytest.approx([0.003, 0])


def test_time_can_be_grouped_by_file_and_module() -> None:
    python = profiled().job().python()
    assert [row.name for row in python.by("module").rows] == ["helper.py", "torch", "train.py"]
    assert [row.name for row in python.by("file").rows] == [HELPER[1], MODEL[1], MAIN[1]]
    with pytest.raises(UsageError, match="Available: function, file, module"):
        python.by("line")


def test_builtin_functions_are_located_at_their_callers() -> None:
    job = FakeJob()
    worker = job.worker()
    profile = FakeProfile(worker).add_calls((MAIN, HELPER, SLEEP), 0.001, 20_000_000, calls=3)
    worker.step(0, {"data_wait": 0.003, "forward": 0.004})
    profile.write(PythonProfiler.CPROFILE)
    worker.flush()
    [sleep, *_] = job.job().python(phase="data_wait").top().to_arrow().to_pylist()
    assert (sleep["function"], sleep["file"], sleep["line"]) == ("time.sleep", HELPER[1], 5)
    assert (sleep["calls"], sleep["self_seconds"]) == (3, pytest.approx(0.020))


def test_other_threads_are_shown_on_request() -> None:
    job = FakeJob()
    worker = job.worker()
    profile = FakeProfile(worker).add_samples((MAIN, MODEL), 4).add_samples((HELPER,), 4, "loader")
    worker.step(0, {"forward": 0.004})
    profile.write()
    worker.flush()
    opened = job.job()
    assert "augment" not in {row.name for row in opened.python().by("function").rows}
    [row] = opened.python(thread="loader").by("function").rows
    assert row.name == "augment"
    assert row.self_seconds == pytest.approx(0.004)
    assert len(opened.python(thread="*").by("function").rows) == 3
    with pytest.raises(UsageError, match=r"Available: \*, training, loader"):
        opened.python(thread="nobody").top()


def test_windows_of_the_same_profiler_are_summed() -> None:
    job = FakeJob()
    worker = job.worker()
    first = FakeProfile(worker).add_calls((MAIN, HELPER), 0.001, 7)
    worker.step(0, {"forward": 0.004})
    samples = [FakeProfile(worker).add_samples((MAIN, HELPER), 4) for _ in range(2)]
    worker.step(1, {"forward": 0.004})
    first.write(PythonProfiler.CPROFILE)
    for number, each in enumerate(samples):
        each.write(number=number + 2)
    worker.flush()
    opened = job.job()
    assert opened.python().profiler == "stacks"
    assert opened.python().top().rows[0].self_seconds == pytest.approx(0.008)
    assert opened.python("cprofile").top().rows[0].self_seconds == pytest.approx(7e-9)


def test_damaged_profile_is_skipped_and_reported() -> None:
    job = profiled()
    worker = job.worker(rank=1)
    worker.step(0, {"forward": 0.004}).flush()
    key = FakeProfile(worker).add_samples((MAIN,), 1).write()
    data = bytearray(job.backend.read(key))
    data[-3] ^= 1
    job.backend.write(key, bytes(data))
    python = job.job().python()
    assert len(python.windows) == 1
    assert python.damages == [f"{key} is damaged: its checksum does not match"]


def test_a_job_without_a_profile_prints_a_sentence() -> None:
    job = FakeJob()
    job.worker().step(0, {"forward": 0.004}).flush()
    python = job.job().python()
    assert repr(python) == "No Python profile recorded"
    assert len(python.top()) == len(python.outliers()) == len(python.modes()) == 0


def test_time_before_the_first_step_is_separate() -> None:
    job = FakeJob()
    worker = job.worker()
    profile = FakeProfile(worker).add_samples((MAIN, HELPER), 5).add_samples((MAIN, MODEL), 4)
    profile.add_samples((MAIN,), 2)
    job.clock.advance(0.005)
    worker.step(0, {"forward": 0.004})
    profile.write()
    worker.flush()
    phases = job.job().python().phases()
    assert phases[("train", "before step 0")] == pytest.approx(0.005)
    assert phases[("train", "between")] == pytest.approx(0.002)  # of a step that was not finished
    assert "augment" in repr(job.job().python())


def test_time_is_split_by_moments() -> None:
    python = profiled().job().python()
    early, late = python.between(0, 0.0061), python.between(0.0061)
    [helper] = [row for row in early.by("function").rows if row.name == "augment"]
    assert helper.self_seconds == pytest.approx(0.002)
    both = [sum(row.self_seconds for row in group.by("function").rows) for group in (early, late)]
    assert sum(both) == pytest.approx(0.036)
    assert not python.between(9).by("function").rows
