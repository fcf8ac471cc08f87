"""Evaluations and predictions of Keras: named results, and steps that are counted."""

from collections.abc import Mapping
from math import nan
from typing import Any

from sonde.hook.call_site import CallSites, split_of
from sonde.hook.session import Session
from sonde.records.evaluation import Evaluation
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

_LOSS = "loss"
_VALIDATION = "validation"
_UNNAMED = "evaluation"


class Passes:
    """Records one call of `evaluate` or `predict` at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sites = CallSites()
        self._mode = ""
        self._name = self._source = ""
        self._start_ns = 0
        self._ends_ns: list[int] = []
        self.note = self._ends_ns.append

    @property
    def is_on(self) -> bool:
        """Whether a call is running."""
        return bool(self._mode)

    def begin(self, mode: Mode, *, is_within_fit: bool = False) -> None:
        """Begin a call."""
        self._mode, self._start_ns = mode.value, self._session.clock.now_ns()
        self._ends_ns.clear()
        if mode is Mode.EVAL:
            self._name, self._source = self._describe(is_within_fit)

    def end(self) -> tuple[int, int]:
        """End a call; return its first and last step."""
        mode, self._mode = self._mode, ""
        steps, count = self._session.steps, len(self._ends_ns)
        first = steps.counts.get(mode, 0)
        if count:
            steps.add_passes(mode, self._start_ns, self._ends_ns)
        return first, first + max(count, 1) - 1

    def record(
        self, metrics: Mapping[str, Any], samples: float | None, at: tuple[int, int]
    ) -> None:
        """Record the result of an evaluation.

        Args:
            metrics: The loss and the metrics.
            samples: The number of samples, if the model counts them.
            at: The first and the last step of the evaluation.
        """
        numbers = {name: float(value) for name, value in metrics.items()}
        loss, done = numbers.pop(_LOSS, None), self._session.steps.counts[Mode.TRAIN.value]
        evaluation = Evaluation(
            self._name,
            self._source,
            done,
            int(samples or 0),
            len(self._ends_ns),
            loss,
            first_eval_step=at[0],
            last_eval_step=at[1],
            metrics=numbers,
        )
        value, kind = nan if loss is None else loss, ObservationKind.EVALUATION
        where = (Mode.TRAIN.value, done)
        self._session.recorder.observe(kind, self._name, value, evaluation.detail(), where)

    def _describe(self, is_within_fit: bool) -> tuple[str, str]:
        """The name of an evaluation, and the line of the script that runs it."""
        frames = self._sites.describe(self._sites.chain())
        split = None if is_within_fit else split_of(frames, set())
        frame = split[1] if split else next(iter(frames), None)
        source = f"call at {frame.file}:{frame.line}" if frame else "call"
        return _VALIDATION if is_within_fit else split[0] if split else _UNNAMED, source
