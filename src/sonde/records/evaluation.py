"""One evaluation: a pass over a data set between training steps, and its result."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of one evaluation: means over its samples.

    Evaluations with the same name form a series: the same data, evaluated by the same model from
    the same place in the script.
    """

    name: str  # such as `validation`, `train (evaluated)`, `validation (ema)`
    data: str  # where the data comes from, such as `loader at train.py:88`
    step: int  # training steps done before it
    samples: int  # 0: unknown
    batches: int
    loss: float | None  # mean over the samples; None: no loss, or several
    # mean over the batches of one worker, if `loss` was reported by a trainer for all workers
    batch_loss: float | None = None
    time_ns: int = 0  # when its result was recorded
    is_training_data: bool = False  # the data set also feeds training
    model: str = ""  # empty: the trained model; `ema`: a copy of it without an optimizer
    first_eval_step: int = 0  # its steps in mode eval, from the first to the last
    last_eval_step: int = 0
    metrics: Mapping[str, float] = field(default_factory=dict)  # parts of the loss, logged numbers
    # sampled class predictions: label, then the number of correct and wrong ones
    hits: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def detail(self) -> str:
        """The detail of the observation that records this evaluation."""
        facts: dict[str, Any] = {
            "data": self.data,
            "samples": self.samples,
            "batches": self.batches,
            "has_loss": self.loss is not None,
            "eval_steps": [self.first_eval_step, self.last_eval_step],
        }
        if self.batch_loss is not None:
            facts["batch_loss"] = self.batch_loss
        if self.is_training_data:
            facts["is_training_data"] = True
        if self.model:
            facts["model"] = self.model
        if self.metrics:
            facts["metrics"] = dict(self.metrics)
        if self.hits:
            facts["hits"] = {label: list(counts) for label, counts in self.hits.items()}
        return json.dumps(facts, separators=(",", ":"))

    @classmethod
    def of(
        cls, name: str, value: float, at: tuple[int, int], facts: Mapping[str, Any]
    ) -> "Evaluation":
        """Build an evaluation from an observation.

        Args:
            name: The observation's subject.
            value: Its value.
            at: Its step and time.
            facts: The content of its detail.
        """
        first, last = facts.get("eval_steps", (0, 0))
        step, time_ns = at
        return cls(
            name=name,
            data=str(facts.get("data", "")),
            step=step,
            samples=int(facts.get("samples", 0)),
            batches=int(facts.get("batches", 0)),
            loss=value if facts.get("has_loss") else None,
            batch_loss=facts.get("batch_loss"),
            time_ns=time_ns,
            is_training_data=bool(facts.get("is_training_data")),
            model=str(facts.get("model", "")),
            first_eval_step=int(first),
            last_eval_step=int(last),
            hits={str(key): (item[0], item[1]) for key, item in facts.get("hits", {}).items()},
            metrics={str(key): float(item) for key, item in facts.get("metrics", {}).items()},
        )

    def to_document(self) -> dict[str, Any]:
        """The evaluation as plain JSON values."""
        is_finite = self.loss is not None and math.isfinite(self.loss)
        document: dict[str, Any] = {
            "name": self.name,
            "data": self.data,
            "step": self.step,
            "samples": self.samples,
            "loss": self.loss if is_finite else None,
        }
        if self.metrics:
            document["metrics"] = {
                key: number if math.isfinite(number) else None
                for key, number in self.metrics.items()
            }
        return document
