"""The hook for XGBoost: a callback that saves metrics, predictions and importances of rounds."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import xgboost

from smdebug.core import current_hook
from smdebug.core.collection import CollectionKeys
from smdebug.core.hook import BaseHook
from smdebug.core.warnings_once import warn_once

_PATTERNS = {
    CollectionKeys.METRICS: ("^train-", "^validation-", "^eval-", "^test-"),
    CollectionKeys.HYPERPARAMETERS: ("^hyperparameters/",),
    CollectionKeys.PREDICTIONS: ("^predictions$",),
    CollectionKeys.LABELS: ("^labels$",),
    CollectionKeys.FEATURE_IMPORTANCE: ("^feature_importance/",),
    CollectionKeys.AVERAGE_SHAP: ("^average_shap/",),
    CollectionKeys.FULL_SHAP: ("^full_shap/",),
    CollectionKeys.TREES: ("^trees/",),
}
_IMPORTANCES = ("weight", "gain", "cover", "total_gain", "total_cover")


class Hook(BaseHook, xgboost.callback.TrainingCallback):  # type: ignore[misc]
    """Saves what each boosting round produces; pass it in `callbacks` of `xgboost.train`."""

    default_collections: ClassVar[tuple[str, ...]] = (CollectionKeys.METRICS,)

    def __init__(
        self,
        out_dir: str,
        *arguments: Any,
        hyperparameters: dict[str, Any] | None = None,
        train_data: Any = None,
        validation_data: Any = None,
        **named: Any,
    ) -> None:
        BaseHook.__init__(self, out_dir, *arguments, **named)
        self.hyperparameters = hyperparameters
        self.train_data = train_data
        self.validation_data = validation_data

    def before_training(self, model: Any) -> Any:
        """Begin to record."""
        self.prepare()
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Save a boosting round; returns whether to stop, which is never the case."""
        del epoch
        self.begin_step()
        for data, metrics in evals_log.items():
            for metric, values in metrics.items():
                self._save_metric(f"{data}-{metric}", _last(values))
        if self.saves_this_step:
            for name, value in self._tensors(model):
                self.save_if_due(name, value)
        return False

    def _built_in_patterns(self) -> dict[str, tuple[str, ...]]:
        return {**super()._built_in_patterns(), **_PATTERNS}

    def _save_metric(self, name: str, value: float) -> None:
        self.get_collection(CollectionKeys.METRICS).add_tensor_name(name)
        self.save_if_due(name, np.array([value]))

    def _saves(self, collection: str) -> bool:
        is_selected = self.save_all or collection in self.include_collections
        return is_selected and self.should_save_tensor_or_collection("", collection)

    def _tensors(self, model: Any) -> Iterator[tuple[str, Any]]:
        if self._saves(CollectionKeys.HYPERPARAMETERS):
            for name, value in (self.hyperparameters or {}).items():
                if isinstance(value, int | float):
                    yield f"hyperparameters/{name}", np.array([value])
        if self._saves(CollectionKeys.FEATURE_IMPORTANCE):
            yield from _importances(model)
        if self._saves(CollectionKeys.TREES):
            warn_once("the collection trees is recorded by Sonde itself: --save trees")
        data = self.validation_data if self.validation_data is not None else self.train_data
        if data is not None:
            yield from self._of_data(model, data)

    def _of_data(self, model: Any, data: Any) -> Iterator[tuple[str, Any]]:
        if self._saves(CollectionKeys.LABELS):
            yield CollectionKeys.LABELS, data.get_label()
        if self._saves(CollectionKeys.PREDICTIONS):
            yield CollectionKeys.PREDICTIONS, model.predict(data)
        has_average = self._saves(CollectionKeys.AVERAGE_SHAP)
        has_full = self._saves(CollectionKeys.FULL_SHAP)
        if not (has_average or has_full):
            return
        shap = model.predict(data, pred_contribs=True)
        names = [*(data.feature_names or map("f{}".format, range(shap.shape[-1] - 1))), "bias"]
        for index, name in enumerate(names):
            if has_full:
                yield f"full_shap/{name}", shap[..., index]
            if has_average:
                yield f"average_shap/{name}", np.array([shap[..., index].mean()])


def get_hook(
    json_config_path: str | None = None, create_if_not_exists: bool = False
) -> BaseHook | None:
    """The hook of this process; created from a configuration file if requested."""
    hook: BaseHook | None = current_hook.get_hook(
        Hook, json_config_path, create_if_not_exists=create_if_not_exists
    )
    return hook


def _importances(model: Any) -> Iterator[tuple[str, Any]]:
    for kind in _IMPORTANCES:
        for feature, score in model.get_score(importance_type=kind).items():
            yield f"feature_importance/{kind}/{feature}", np.array([score])


def _last(values: Any) -> float:
    """The last value of a metric; cross-validation adds its deviation."""
    value = values[-1]
    return float(value[0] if isinstance(value, tuple) else value)
