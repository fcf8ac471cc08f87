"""Record the weights and optimizer state of a Keras model at some steps."""

from math import prod

from sonde.hook.inspected_rounds import InspectedRounds
from sonde.hook.keras.model import KerasModel
from sonde.hook.session import Session
from sonde.hook.steps import StepId
from sonde.hook.tensors.array_records import ArrayRecords
from sonde.hook.tensors.plan import Due
from sonde.hook.tensors.tensor_recorder import SavedTensor
from sonde.records.notice import NoticeKind
from sonde.records.step import Mode
from sonde.store import arrays

_MAX_ELEMENTS = 2**24  # of all tensors of an inspection, unless the user requests them


class TensorInspector(InspectedRounds):
    """Copies tensors between two steps; the worker thread computes their statistics."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._arrays = ArrayRecords(session)
        self._record = self.inspections.timed("weights", self._record_tensors)
        self._latest = -1

    def inspect(self, model: KerasModel, at: StepId, *, is_inspected: bool) -> None:
        """Record the tensors that are due after a step.

        Args:
            model: The model.
            at: The step.
            is_inspected: Whether to record what rules need, too.
        """
        plan, step = self.session.plan, at[1]
        due = plan.due_exactly(Mode.TRAIN, step)
        if is_inspected and self._is_small(model):
            due, self._latest = plan.due(Mode.TRAIN, step, self._latest), step
        if due:
            self._record(model, at, due)

    def _is_small(self, model: KerasModel) -> bool:
        elements = sum(prod(variable.shape) for *_, variable in model.tensors())
        if elements <= _MAX_ELEMENTS:
            return True
        reason = f"{elements} elements would delay a step; request them with --save"
        kind = NoticeKind.NOT_COLLECTED
        self.session.store.notice(kind, "statistics of weights", reason)
        return False

    def _record_tensors(self, model: KerasModel, at: StepId, due: Due) -> None:
        for name, kinds, variable in model.tensors():
            request = self.session.plan.request_for(name, kinds, due)
            if request is not None:
                raw = arrays.raw_of(model.read(variable))
                self._arrays.add(SavedTensor(name, (), at, request), raw, kinds)
