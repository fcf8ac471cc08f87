"""Advice for data loaders, with and without planted faults."""

from typing import Any

import pytest

from sonde.analyze.loader_processes import Limit
from sonde.analyze.loading import LoaderReport, examine, functions_of
from sonde.analyze.outliers import loading_outliers
from sonde.records.loading import IteratorStart, LoaderFacts, LoaderHost, LoaderRecord

GET = "Images.__getitem__ (train.py:20)"
COMPOSE = "Compose.__call__ (site-packages/torchvision/transforms.py:90)"
BLUR = "Blur.__call__ (train.py:5)"
CROP = "RandomCrop.forward (site-packages/torchvision/transforms.py:300)"
PAD = "pad (site-packages/torchvision/functional.py:10)"
COLLATE = "default_collate (site-packages/torch/utils/data/_utils/collate.py:300)"

SLOW_BLUR = (((GET, COMPOSE, BLUR), 0.8), ((GET, COMPOSE, CROP), 0.1), ((COLLATE,), 0.1))


def loader(**values: Any) -> LoaderReport:
    """Return the report of a loader; by default, two processes on eight cores keep up."""
    facts = LoaderFacts(**{"processes": 2, "cores": 8, **values.pop("facts", {})})
    waits = values.pop("waits", [0.0001] * 50)
    steps = values.pop("step_seconds", [0.1] * 50)
    values.setdefault("waited_percent", 100 * sum(waits) / (sum(waits) + sum(steps)))
    record = LoaderRecord(
        **{
            "worker": 0,
            "number": 0,
            "device": "cpu",
            "facts": facts,
            "seconds": {
                "batch": values.pop("batches", [0.05 if sum(waits) < 1 else 9.0] * 50),
                "next batch": waits,
            },
            "wait_steps": range(len(waits)),
            "wait_times_ns": range(len(waits)),
            "step_seconds": steps,
            "step_waits": waits,
            "cpu_percent": 99.0,
            "host": LoaderHost(cores=float(facts.cores), busy_percent=20.0),
            **values,
        }
    )
    return examine(record)


def about(report: LoaderReport) -> list[str]:
    return [item.about for item in report.advice]


def text(report: LoaderReport, topic: str) -> str:
    [result] = [item.text for item in report.advice if item.about == topic]
    return result


def advised(report: LoaderReport) -> tuple[int, int, str]:
    assert report.processes is not None
    return report.processes.needed, report.processes.advised, report.processes.limit.value


def test_a_loader_that_keeps_up_gets_no_advice() -> None:
    report = loader(stacks=SLOW_BLUR)
    assert about(report) == ["healthy"]
    assert advised(report) == (1, 2, "nothing")


def test_a_slow_transformation_is_named() -> None:
    report = loader(waits=[0.2] * 50, stacks=SLOW_BLUR)
    assert about(report) == ["waiting", "function", "processes"]
    assert text(report, "function") == (
        "80% of the time per batch is spent in Blur.__call__ (train.py:5)."
    )
    assert "7 loader processes (num_workers=7) would keep up." in text(report, "processes")
    assert advised(report) == (7, 7, "nothing")


def test_the_recommended_number_is_limited_by_the_cores() -> None:
    report = loader(waits=[0.4] * 50, facts={"cores": 4})
    message = "4 loader processes (num_workers=4) would help; also make batches cheaper to prepare."
    assert message in text(report, "processes")
    assert advised(report) == (11, 4, "cores")
    full = loader(waits=[0.4] * 50, facts={"cores": 2})
    assert "there are only 2 cores: make batches cheaper" in text(full, "processes")
    assert advised(full) == (11, 2, "cores")


def test_processes_that_wait_need_no_cores() -> None:
    report = loader(waits=[0.4] * 50, facts={"cores": 3}, cpu_percent=3.0, stacks=SLOW_BLUR)
    assert "11 loader processes (num_workers=11) would keep up." in text(report, "processes")
    assert "Most of that is waiting" in text(report, "function")


def test_processes_without_a_free_core_do_not_count_as_waiting() -> None:
    full = LoaderHost(cores=3.0, busy_percent=97.0)
    values = {"waits": [0.4] * 50, "facts": {"cores": 3}, "stacks": SLOW_BLUR, "cpu_percent": 30.0}
    report = loader(host=full, **values)
    assert advised(report) == (11, 3, "cores")
    assert "waiting" not in text(report, "function")
    assert advised(loader(host=LoaderHost(), **values)) == (11, 3, Limit.CORES)  # not measured


def test_a_training_process_that_prepares_batches_is_advised_to_use_a_loader_process() -> None:
    report = loader(facts={"processes": 0}, waits=[0.05] * 50, batches=[])
    assert about(report) == ["waiting", "window", "processes"]
    message = "the training process prepares it. One loader process (num_workers=1) would keep up"
    assert message in text(report, "processes")


def test_waiting_for_fast_processes_is_attributed_to_the_transfer() -> None:
    report = loader(waits=[0.05] * 50, batches=[0.01] * 50)
    assert about(report) == ["waiting", "handing over"]


def test_a_profile_is_advised_if_no_batch_was_profiled() -> None:
    report = loader(batches=[], waits=[0.05] * 50)
    assert about(report) == ["waiting", "window", "processes"]
    assert "sonde profile JOB --kinds dataloader" in text(report, "window")


def test_more_computing_processes_than_cores_are_too_many() -> None:
    assert about(loader(facts={"processes": 16})) == ["processes"]
    assert about(loader(facts={"processes": 16}, cpu_percent=5.0)) == ["healthy"]


@pytest.mark.parametrize(
    ("device", "is_pinning", "expected"),
    [("cuda:0", False, "pinning"), ("cuda:0", True, "healthy"), ("cpu", False, "healthy")],
)
def test_memory_is_pinned_for_a_gpu(device: str, is_pinning: bool, expected: str) -> None:
    report = loader(device=device, facts={"is_pinning": is_pinning})
    assert about(report) == [expected]


def test_frequent_iterator_starts_are_reported() -> None:
    starts = [IteratorStart(number, 0.5, 2.0) for number in range(10)]
    report = loader(starts=starts)
    message = "10 iterators were started, with a median start time of 2.5 s."
    assert message in text(report, "starts")
    assert "persistent_workers=True" in text(report, "starts")
    stored = loader(starts=starts, facts={"keeps_processes": True})
    assert "persistent_workers" not in text(stored, "starts")
    assert about(loader(starts=starts[:1])) == ["healthy"]


def test_an_unusually_long_start_is_reported() -> None:
    starts = [IteratorStart(number, 0.001, 0.002) for number in range(8)]
    starts[5] = IteratorStart(5, 0.001, 3.0)
    report = loader(starts=starts, step_seconds=[1.0] * 100, batches=[0.1] * 50)
    assert [slow_start.time_ns for slow_start in report.slow_starts] == [5]
    assert "1 iterator start took unusually long" in text(report, "slow starts")


def test_durations_in_advice_have_no_scientific_notation() -> None:
    starts = [IteratorStart(number, 0.001, 0.002) for number in range(8)]
    starts[5] = IteratorStart(5, 0.001, 5000.0)
    report = loader(starts=starts, step_seconds=[1.0] * 100, batches=[0.1] * 50)
    assert "took unusually long, up to 1 h 23 min." in text(report, "slow starts")


def test_an_unusually_long_wait_is_reported_with_its_step() -> None:
    waits = [0.001, 0.0012, 0.0009] * 20
    waits[17] = 0.4
    report = loader(waits=waits)
    assert [(slow_wait.step, slow_wait.seconds) for slow_wait in report.slow_waits] == [(17, 0.4)]
    assert "1 batch took unusually long, up to 400 ms at train step 17." in text(report, "outliers")


def test_frequent_long_waits_are_not_outliers() -> None:
    assert loading_outliers([0.001, 0.05] * 30) == []
    assert loading_outliers([0.001, 0.001, 0.001, 0.05] * 15) == []
    assert loading_outliers([0.02 + 0.001 * (number % 7) for number in range(60)]) == []
    assert loading_outliers([0.001, 5.0]) == []  # too few values


def test_the_distribution_has_quartile_median_and_tail() -> None:
    report = loader(batches=[number / 100 for number in range(101)])
    seconds = report.seconds("batch")
    assert seconds is not None
    assert (seconds.count, seconds.maximum) == (101, 1.0)
    assert [seconds.p25, seconds.p50, seconds.p95] == pytest.approx([0.25, 0.5, 0.95])
    assert report.seconds("pinning") is None


def test_functions_count_once_per_stack_and_own_shares_add_up() -> None:
    recursive = (((GET, BLUR, BLUR), 1.0), *SLOW_BLUR)
    functions, _ = functions_of(recursive)
    assert max(function.percent for function in functions) <= 100
    assert sum(function.own_percent for function in functions) == pytest.approx(100)


def test_for_library_code_the_class_used_by_the_script_is_named() -> None:
    _, slowest = functions_of([((GET, COMPOSE, CROP, PAD), 0.9), ((GET,), 0.1)])
    assert slowest is not None
    assert slowest.name == "RandomCrop.forward"
    assert slowest.is_library


def test_if_no_function_dominates_its_common_caller_is_named() -> None:
    _, slowest = functions_of([((GET, BLUR), 0.34), ((GET, CROP), 0.33), ((GET, PAD), 0.33)])
    assert slowest is not None
    assert slowest.name == "Images.__getitem__"
    assert functions_of([]) == ((), None)
