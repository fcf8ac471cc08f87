"""New rows of a growing folder are returned once, across sealing and merging."""

from sonde.read.new_rows import NewRows
from sonde.store.format import EVENTS
from sonde.store.layout import worker_folder
from sonde.store.reader import FolderReader
from tests.fakes.job import FakeJob


def names(fresh: NewRows) -> list[str]:
    return [row["name"] for table in fresh.poll() for row in table.to_pylist()]


def test_every_row_is_returned_once_across_sealing_and_merging() -> None:
    job = FakeJob()
    worker = job.worker()
    reader = FolderReader(job.backend, worker_folder(0), EVENTS)
    fresh = NewRows(reader, ("name", "start_ns"))
    rows: list[str] = []
    for number in range(6):
        worker.span(f"event-{number}", 0.0, 1.0).flush()
        job.clock.advance(1)
        reader.refresh()
        rows += names(fresh)
        if number in (1, 4):
            worker.seal()
            worker = job.worker(restart=number)  # the next writer, with its own segment
    worker.seal()
    reader.refresh()
    rows += names(fresh)
    assert rows == [f"event-{number}" for number in range(6)]


def test_without_new_rows_nothing_is_returned() -> None:
    job = FakeJob()
    job.worker().span("one", 0.0, 1.0).flush()
    reader = FolderReader(job.backend, worker_folder(0), EVENTS)
    reader.refresh()
    fresh = NewRows(reader, ("name",))
    assert names(fresh) == ["one"]
    assert names(fresh) == []
