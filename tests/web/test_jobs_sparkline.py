"""The sparkline of a job in the list shows its loss."""

from sonde.web.catalog import Catalog
from tests.fakes.job import FakeJob


def test_the_sparkline_shows_the_loss_even_if_other_scalars_come_first() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(3):
        worker.scalar("gradient_norm", step, 9.0).scalar("loss", step, 3.0 - step)
    worker.flush()
    store, _, name = job.backend.uri.rstrip("/").rpartition("/")
    (row,) = Catalog(store, job.clock).rows([name])
    assert row["spark"] == {"label": "loss", "values": [3.0, 2.0, 1.0]}
