"""Data loader profiles of some batches."""

import json
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torch.utils.data._utils import fetch as fetchers
from torch.utils.data._utils import pin_memory as pinning

from sonde.hook.profilers.dataloader import DataLoaders
from sonde.records.profile import ProfileKind, Window
from sonde.store.format import OPERATIONS
from tests.fakes.session import Recorded, Row, watched

ONE_STEP = Window(ProfileKind.DATALOADER, num_steps=1)
SOME_TIME = Window(ProfileKind.DATALOADER, duration_seconds=5.0)


class Numbers(Dataset[Any]):
    """Numbers with noise from three random generators."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        noise = random.random() + float(np.random.rand()) + float(torch.rand(()))
        return torch.tensor([float(index), noise])


class Together(Numbers):
    """Returns all items of a batch in one call."""

    def __getitems__(self, indices: list[int]) -> list[torch.Tensor]:
        return [self[index] for index in indices]


class Stream(IterableDataset[Any]):
    """An iterable data set of ten numbers."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        return (torch.tensor(float(number)) for number in range(10))


class Busy:
    """A transform that takes 20 ms of CPU time."""

    def __call__(self, number: torch.Tensor) -> torch.Tensor:
        until = time.perf_counter() + 0.02
        while time.perf_counter() < until:
            pass
        return number


class Transformed(Numbers):
    """Numbers with a transform."""

    def __init__(self, transform: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.transform = transform

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.transform(super().__getitem__(index))


class Broken(Numbers):
    """A data set that fails to load an item."""

    def __getitem__(self, index: int) -> torch.Tensor:
        raise ValueError(f"cannot load item {index}")


def rows_of(recorded: Recorded, name: str) -> list[Row]:
    return [row for row in recorded.rows[OPERATIONS.name] if row["name"] == name]


def facts_of(row: Row) -> dict[str, Any]:
    facts = json.loads(row["detail"])
    assert isinstance(facts, dict)
    return facts


def loader_of(dataset: Any, **options: Any) -> "DataLoader[Any]":
    return DataLoader(dataset, **{"batch_size": 4, **options})


def profiled(loader: "DataLoader[Any]", window: Window = ONE_STEP) -> tuple[list[Any], Recorded]:
    """Return all batches; profiling starts with the second one."""
    batches = []
    with watched() as recorded:
        profiler = DataLoaders(recorded.session)
        for number, batch in enumerate(loader):
            batches.append(batch)
            if number == 0:
                assert profiler.begin(window) is None
        profiler.end(window)
    return batches, recorded


def seeded(loader: "DataLoader[Any]") -> "DataLoader[Any]":
    random.seed(1)
    np.random.seed(2)
    torch.manual_seed(3)
    return loader


def test_batch_of_the_main_process_has_its_items_and_collation() -> None:
    _, recorded = profiled(loader_of(Numbers()))
    [start] = rows_of(recorded, "iterator start")
    facts = facts_of(start)
    assert (start["lane"], start["category"]) == ("loader 0", "loading")
    assert (facts["num_workers"], facts["batch_size"], facts["pin_memory"]) == (0, 4, False)
    assert (facts["dataset"], facts["collate"]) == ("Numbers", "default_collate")
    assert facts["cores"] >= 1
    batches, items = rows_of(recorded, "batch"), rows_of(recorded, "items")
    collations, waits = rows_of(recorded, "collation"), rows_of(recorded, "next batch")
    assert [len(rows) for rows in (batches, items, collations, waits)] == [15, 15, 15, 15]
    assert facts_of(items[0])["calls"] == 4
    for batch, *operations in zip(batches, items, collations, strict=True):
        inside = sum(operation["duration_ns"] for operation in operations)
        assert batch["self_ns"] == batch["duration_ns"] - inside >= 0
        assert all(batch["start_ns"] <= operation["start_ns"] for operation in operations)
    assert {row["lane"] for row in (*batches, *items, *waits)} == {"loader 0"}


def test_items_fetched_together_are_one_call() -> None:
    batches, recorded = profiled(loader_of(Together()))
    assert len(batches) == 16
    facts = [facts_of(row) for row in rows_of(recorded, "items")]
    assert {(fact["calls"], fact["by"]) for fact in facts} == {(1, "__getitems__")}


def test_iterable_dataset_is_recorded_and_its_end_is_not_a_batch() -> None:
    batches, recorded = profiled(loader_of(Stream()))
    assert torch.cat(batches).tolist() == [float(number) for number in range(10)]
    assert [facts_of(row)["calls"] for row in rows_of(recorded, "items")] == [4, 2]


def test_loader_without_batching_loses_no_items() -> None:
    batches, recorded = profiled(loader_of(Numbers(), batch_size=None))
    assert len(batches) == 64
    assert len(rows_of(recorded, "batch")) == 63


@pytest.mark.parametrize("processes", [0, 2])
def test_profiling_does_not_change_the_batches(processes: int) -> None:
    options = {"shuffle": True, "num_workers": processes}
    alone = torch.cat(list(seeded(loader_of(Numbers(), **options))))
    after = (random.random(), np.random.rand(), torch.rand(3).tolist())
    batches, _ = profiled(seeded(loader_of(Numbers(), **options)), SOME_TIME)
    assert torch.equal(torch.cat(batches), alone)
    assert (random.random(), np.random.rand(), torch.rand(3).tolist()) == after


def test_loader_processes_started_before_the_window_report_their_batches() -> None:
    loader = loader_of(Numbers(), num_workers=2, persistent_workers=True)
    with watched() as recorded:
        profiler = DataLoaders(recorded.session)
        for number, _ in enumerate(loader):
            if number == 8:
                assert profiler.begin(ONE_STEP) is None
                profiler.end(ONE_STEP)
        list(loader)  # by the same processes
    batches = rows_of(recorded, "batch")
    lanes = {row["lane"] for row in batches}
    assert lanes == {"loader 0 process 0", "loader 0 process 1"}
    details = [facts_of(row) for row in batches if row["detail"]]
    assert sum("gap" in detail for detail in details) == 2  # in the first report of each process
    inspected = [row for row in batches if "stacks" in row["detail"]]
    assert [sum(row["lane"] == lane for row in inspected) for lane in sorted(lanes)] == [2, 2]
    assert len(batches) > len(inspected)  # includes the times of earlier batches
    assert len(rows_of(recorded, "items")) == len(rows_of(recorded, "collation")) == 4
    starts = [facts_of(row) for row in rows_of(recorded, "iterator start")]
    assert [detail["persistent_workers"] for detail in starts] == [True, True]


def test_loader_processes_started_after_the_window_are_not_profiled() -> None:
    with watched() as recorded:
        profiler = DataLoaders(recorded.session)
        list(loader_of(Numbers(), num_workers=1))
        profiler.begin(ONE_STEP)
        profiler.end(ONE_STEP)
        list(loader_of(Numbers(), num_workers=1))
    assert rows_of(recorded, "batch") == []
    assert [row["lane"] for row in rows_of(recorded, "iterator start")] == ["loader 0", "loader 0"]


def test_loader_processes_started_during_the_window_are_profiled() -> None:
    with watched() as recorded:
        profiler = DataLoaders(recorded.session)
        profiler.begin(ONE_STEP)
        list(loader_of(Numbers(), num_workers=1))
        profiler.end(ONE_STEP)
    assert {row["lane"] for row in rows_of(recorded, "items")} == {"loader 0 process 0"}


def test_recreated_loader_keeps_its_number() -> None:
    with watched() as recorded:
        loader = loader_of(Numbers(), batch_size=2)
        for _ in range(3):
            list(loader_of(Numbers()))
            list(loader_of(Numbers(), batch_size=8))
            list(loader)
    lanes = [row["lane"] for row in rows_of(recorded, "iterator start")]
    assert lanes == ["loader 0", "loader 1", "loader 2"] * 3


def test_slow_function_appears_in_the_loader_stacks() -> None:
    loader = loader_of(Transformed(Busy()), batch_size=1)
    with watched() as recorded:
        profiler = DataLoaders(recorded.session)
        profiler.begin(ONE_STEP)
        next(iter(loader))
        profiler.end(ONE_STEP)
    [batch] = rows_of(recorded, "batch")
    stacks = facts_of(batch)["stacks"]
    names, spent_ns = stacks[0]
    assert [name.partition(" ")[0] for name in names] == [
        "Transformed.__getitem__",
        "Busy.__call__",
    ]
    assert names[0].partition(" ")[2].startswith("(test_dataloader.py:")
    assert spent_ns > 5_000_000


def test_batches_load_even_if_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with watched() as recorded:
        recorded.session.activate()
        profiler = DataLoaders(recorded.session)
        profiler.begin(ONE_STEP)
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            assert len(list(loader_of(Numbers()))) == 16
        profiler.end(ONE_STEP)
    assert [facts_of(row)["stacks"] for row in rows_of(recorded, "batch")] == [[]] * 16


@pytest.mark.parametrize("processes", [0, 1])
def test_dataset_exception_shows_no_frame_of_sonde(processes: int) -> None:
    loader = loader_of(Broken(), num_workers=processes)
    with watched() as recorded:
        profiler = DataLoaders(recorded.session)
        profiler.begin(ONE_STEP)
        with pytest.raises(ValueError, match="cannot load item 0") as caught:
            next(iter(loader))
        profiler.end(ONE_STEP)
    text = str(caught.value) + "".join(traceback.format_tb(caught.tb))
    assert "loading.py" not in text
    assert "loader_batches.py" not in text
    assert rows_of(recorded, "batch") == []


def test_pinning_a_batch_is_timed_once() -> None:
    class Pinnable:
        def pin_memory(self) -> str:
            return "pinned"

    with watched() as recorded:
        recorded.session.activate()
        profiler = DataLoaders(recorded.session)
        profiler.begin(ONE_STEP)
        pin: Any = pinning.pin_memory
        assert pin([Pinnable(), Pinnable()]) == ["pinned", "pinned"]
        profiler.end(ONE_STEP)
        pin = pinning.pin_memory
        pin(Pinnable())
    assert len(rows_of(recorded, "pinning")) == 1


def test_all_patches_are_removed_after_the_window() -> None:
    before = (DataLoader.__iter__, fetchers._MapDatasetFetcher.fetch, pinning.pin_memory)
    profiled(loader_of(Numbers(), num_workers=1))
    after = (DataLoader.__iter__, fetchers._MapDatasetFetcher.fetch, pinning.pin_memory)
    assert after == before


def test_fetcher_keeps_its_references() -> None:
    dataset = Numbers()
    with watched() as recorded:
        profiler = DataLoaders(recorded.session)
        iterator: Any = iter(loader_of(dataset))
        profiler.begin(ONE_STEP)
        next(iterator)
        assert iterator._dataset_fetcher.dataset is dataset
        assert iterator._dataset_fetcher.collate_fn is torch.utils.data.default_collate
        profiler.end(ONE_STEP)
