"""Evaluations of a job, written in one line."""

import math
from typing import Any

from sonde.records.evaluation import Evaluation
from tests.fakes.worker import FakeWorker


def evaluate(
    worker: FakeWorker, name: str, step: int, loss: float | None, **facts: Any
) -> FakeWorker:
    """The result of one evaluation, recorded after a number of training steps."""
    usual: dict[str, Any] = {"data": "loader at train.py:88", "samples": 100, "batches": 2}
    one = Evaluation(name=name, step=step, loss=loss, **(usual | facts))
    value = math.nan if loss is None else loss
    return worker.observation("evaluation", name, step, value=value, detail=one.detail())
