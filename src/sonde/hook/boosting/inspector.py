"""Inspect a boosted model at some rounds: importance, trees, predictions and SHAP values."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.hook.boosting.boosted_model import BoostedModel, DataSet
from sonde.hook.boosting.objectives import Array, identity
from sonde.hook.boosting.quality import class_hits, label_counts, measure_quality
from sonde.hook.budget import Measurement
from sonde.hook.inspected_rounds import InspectedRounds
from sonde.hook.session import Session
from sonde.hook.steps import StepId
from sonde.hook.tensors.array_records import ArrayRecords
from sonde.hook.tensors.collections import TensorRequest
from sonde.hook.tensors.tensor_recorder import SavedTensor
from sonde.records.observation import ObservationKind
from sonde.records.observations.batches import ClassHits, LabelCounts
from sonde.records.observations.boosting import ImportantFeatures, PredictionQuality
from sonde.records.step import Mode
from sonde.records.tensor import TensorKind
from sonde.store import arrays

AVERAGE_SHAP = "average_shap"

_TRAIN = Mode.TRAIN.value
_MAX_NAMED = 20  # features
_MAX_COMPARED = 2  # data sets besides the training data
_SHAP_ROWS = 200  # by default; a requested collection gets all rows
_EVERY_STEP = TensorRequest()


class Inspector(InspectedRounds):
    """Records predictions, feature importance and trees of the rounds to inspect."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._arrays = ArrayRecords(session)
        self._shap_cost = Measurement()
        self._counted: BoostedModel | None = None  # the model whose labels were counted last
        self.hits: dict[str, Mapping[str, tuple[int, int]]] = {}  # by data set
        self._record = {
            name: self.inspections.timed(name, function)
            for name, function in (
                ("predictions", self._record_predictions),
                ("feature importance", self._record_importance),
                ("trees", self._record_trees),
                ("SHAP values", self._record_contributions),
            )
        }

    def inspect(self, model: BoostedModel) -> None:
        """Inspect the current round."""
        at = (_TRAIN, self._session.steps.counts[_TRAIN])
        for record in self._record.values():
            record(model, at, False)

    def inspect_final(self, model: BoostedModel, at: StepId) -> None:
        """Inspect the finished model."""
        if self._session.plan.has_inspections or self._session.plan.has_requests_for(Mode.TRAIN):
            for record in self._record.values():
                record(model, at, True)

    def save_hyperparameters(self, values: Mapping[str, str]) -> None:
        """Record numeric parameters as tensors, if their collection is requested."""
        at = (_TRAIN, self._session.steps.counts[_TRAIN])
        for name, text in values.items():
            try:
                number = float(text)
            except ValueError:
                continue
            kind = TensorKind.HYPERPARAMETER
            self._save(f"hyperparameters/{name}", kind, at, partial(float, number))

    def _record_predictions(self, model: BoostedModel, at: StepId, is_final: bool) -> None:
        del is_final
        objective, needs = model.objective, self._session.plan.needs
        evaluated = [item for item in model.data_sets if not item.is_training_data]
        for data_set in (model.data_sets[0], *evaluated[-_MAX_COMPARED:]):
            margins, labels = model.margins(data_set), model.labels(data_set)
            link = identity if objective is None else objective.link
            is_trained = data_set.is_training_data
            for name, kind, value in (
                ("labels", TensorKind.LABEL, partial(np.asarray, labels)),
                ("predictions", TensorKind.PREDICTION, partial(link, margins)),
            ):
                # rules compare one pair of predictions and labels
                self._save(f"{name}/{data_set.name}", kind, at, value, for_rules=is_trained)
            if objective is None or not needs(ObservationKind.PREDICTION_QUALITY):
                continue
            quality = measure_quality(objective, margins, labels, is_training_data=is_trained)
            if quality is not None:
                observed, rows = ObservationKind.PREDICTION_QUALITY, data_set.rows
                self._session.recorder.observe(observed, data_set.name, rows, quality.encode(), at)
                self._record_classes(model, data_set, quality, at)

    def _record_classes(
        self, model: BoostedModel, data_set: DataSet, quality: PredictionQuality, at: StepId
    ) -> None:
        """Record what rules for classifiers of any framework read."""
        observe = self._session.recorder.observe
        hits = class_hits(quality)
        if not hits:
            return
        if not data_set.is_training_data:
            self.hits[data_set.name] = hits
            return
        counts = {label: (float(right), float(wrong)) for label, (right, wrong) in hits.items()}
        kind, detail = ObservationKind.CLASS_HITS, ClassHits(counts).encode()
        observe(kind, "predictions", quality.compared, detail, at)
        if self._counted is not model:
            self._counted = model
            labels = LabelCounts(label_counts(quality)).encode()
            observe(ObservationKind.LABEL_HISTOGRAM, "labels", quality.compared, labels, at)

    def _record_importance(self, model: BoostedModel, at: StepId, is_final: bool) -> None:
        del is_final
        kind, needs = TensorKind.FEATURE_IMPORTANCE, self._session.plan.needs
        if not (needs(ObservationKind.FEATURE_IMPORTANCE) or self._request("", kind, at)):
            return
        for name, values in model.importance().items():
            self._record_features(model, f"feature_importance/{name}", values, at)
            self._save(f"feature_importance/{name}", kind, at, partial(np.asarray, values))

    def _record_trees(self, model: BoostedModel, at: StepId, is_final: bool) -> None:
        kind = TensorKind.TREE
        if is_final or not (
            self._session.plan.needs(ObservationKind.TREES) or self._request("", kind, at)
        ):
            return
        shapes = model.trees(model.data_sets[0])
        if shapes is not None:
            detail = shapes.encode()
            self._session.recorder.observe(
                ObservationKind.TREES, model.library, shapes.depth, detail, at
            )
            self._save("trees/depth", kind, at, lambda: shapes.depth)
            self._save("trees/leaves", kind, at, lambda: shapes.leaves)

    def _record_contributions(self, model: BoostedModel, at: StepId, is_final: bool) -> None:
        """Record SHAP values: of a sample by default, of all rows if they are requested."""
        is_full = self._request("full_shap", TensorKind.FULL_SHAP, at) is not None
        average = self._request(AVERAGE_SHAP, TensorKind.AVERAGE_SHAP, at)
        is_needed = self._session.plan.needs(ObservationKind.FEATURE_IMPORTANCE)
        budget = self._session.overhead.budget
        is_affordable = is_final or budget.has_room_for(self._shap_cost)
        if not (is_full or average or (is_needed and is_affordable)):
            return
        data_set = model.data_sets[0]
        began_ns = self._session.clock.now_ns()
        rows = data_set.rows if is_full else min(_SHAP_ROWS, data_set.rows)
        values = model.contributions(data_set, rows)
        self._shap_cost.inline.learn((self._session.clock.now_ns() - began_ns) / NANOSECONDS)
        if values is None:
            return
        by_feature = values[..., :-1].reshape(-1, values.shape[-1] - 1)  # without the bias
        self._record_features(model, AVERAGE_SHAP, np.abs(by_feature).mean(axis=0), at)
        means = values.mean(axis=0)
        self._save(AVERAGE_SHAP, TensorKind.AVERAGE_SHAP, at, lambda: means)
        self._save("full_shap", TensorKind.FULL_SHAP, at, lambda: values)

    def _record_features(
        self, model: BoostedModel, subject: str, values: Array, at: StepId
    ) -> None:
        names = model.feature_names
        order = np.argsort(-values, kind="stable")[:_MAX_NAMED]
        largest = [index for index in order.tolist() if values[index] > 0]
        record = ImportantFeatures(
            tuple(names[index] for index in largest),
            tuple(float(values[index]) for index in largest),
            len(values),
            int((values > 0).sum()),
            float(values.sum()),
        )
        kind = ObservationKind.FEATURE_IMPORTANCE
        self._session.recorder.observe(kind, subject, len(values), record.encode(), at)

    def _request(self, name: str, kind: TensorKind, at: StepId) -> TensorRequest | None:
        """What to record of a tensor at a step because the user requests it."""
        plan = self._session.plan
        return plan.request_for(name, (kind,), plan.due_exactly(Mode.TRAIN, at[1]))

    def _save(
        self,
        name: str,
        kind: TensorKind,
        at: StepId,
        value: Callable[[], object],
        *,
        for_rules: bool = True,
    ) -> None:
        """Record a tensor if its collection is requested at this step, or if rules need it."""
        request = self._request(name, kind, at)
        if request is None and for_rules and self._session.plan.inspects((kind,)):
            request = _EVERY_STEP
        if request is not None:
            raw = arrays.raw_of(np.asarray(value()))
            self._arrays.add(SavedTensor(name, (), at, request), raw, (kind,))
