"""Record evaluations of a job."""

import math
from typing import Any

from sonde.records.evaluation import Evaluation
from tests.fakes.worker import FakeWorker


def evaluate(
    worker: FakeWorker, name: str, step: int, loss: float | None, **facts: Any
) -> FakeWorker:
    """Record the result of an evaluation after a number of training steps."""
    defaults: dict[str, Any] = {"data": "loader at train.py:88", "samples": 100, "batches": 2}
    evaluation = Evaluation(name=name, step=step, loss=loss, **(defaults | facts))
    value = math.nan if loss is None else loss
    return worker.observation("evaluation", name, step, value=value, detail=evaluation.detail())
