"""Jobs that train boosted trees, as the hook records them."""

from collections.abc import Callable, Sequence

from sonde.records.observations.boosting import (
    ImportantFeatures,
    PredictionQuality,
    Task,
    TreeShapes,
)
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

INSPECTED = (0, 1, 2, 3, 5, 8, 12, 18, 27, 34, 43)

Inspect = Callable[[FakeWorker, int], None]


def boosted_job(*inspect: Inspect, rounds: int = 44) -> FakeJob:
    """Return a job whose rounds are inspected as early rounds are."""
    job = FakeJob()
    worker = job.worker(framework="xgboost")
    for number in range(rounds):
        worker.step(number, {"tree_growth": 0.1})
        for record in inspect if number in INSPECTED else ():
            record(worker, number)
    worker.flush()
    return job.end()


def classes(
    confusion: Sequence[Sequence[int]], name: str = "validation", auc: float | None = None
) -> Inspect:
    """Record a confusion matrix at each inspected round."""
    quality = PredictionQuality(
        Task.BINARY if len(confusion) == 2 else Task.MULTICLASS,
        rows=sum(map(sum, confusion)),
        compared=sum(map(sum, confusion)),
        is_training_data=name == "train",
        classes=tuple(map(str, range(len(confusion)))),
        confusion=tuple(map(tuple, confusion)),
        auc=auc,
    )

    def record(worker: FakeWorker, number: int) -> None:
        worker.observation(
            "prediction-quality", name, number, quality.encode(), value=float(quality.rows)
        )

    return record


def importance(values: Sequence[float], subject: str = "feature_importance/weight") -> Inspect:
    """Record the importance of features at each inspected round, largest first."""
    names = tuple(f"feature {index}" for index in range(len(values)))
    used = sum(value > 0 for value in values)
    features = ImportantFeatures(names, tuple(values), len(values), used, sum(values))

    def record(worker: FakeWorker, number: int) -> None:
        detail, count = features.encode(), float(len(values))
        worker.observation("feature-importance", subject, number, detail, value=count)

    return record


def trees(depth: int, leaves: int, rows: int) -> Inspect:
    """Record the shape of the tree of each inspected round."""
    shapes = TreeShapes(1, depth, leaves, rows)

    def record(worker: FakeWorker, number: int) -> None:
        worker.observation("trees", "xgboost", number, shapes.encode(), value=float(depth))

    return record
