"""Collections: named groups of tensors with a configuration of their own."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveConfig
from smdebug.exceptions import InvalidCollectionConfiguration, SMDebugTypeError


class CollectionKeys:
    """The names of built-in collections."""

    DEFAULT = "default"
    ALL = "all"
    INPUTS = "inputs"
    OUTPUTS = "outputs"
    WEIGHTS = "weights"
    GRADIENTS = "gradients"
    LOSSES = "losses"
    BIASES = "biases"
    LAYERS = "layers"
    SM_METRICS = "sm_metrics"
    OPTIMIZER_VARIABLES = "optimizer_variables"
    TENSORFLOW_SUMMARIES = "tensorflow_summaries"
    METRICS = "metrics"
    HYPERPARAMETERS = "hyperparameters"
    PREDICTIONS = "predictions"
    LABELS = "labels"
    FEATURE_IMPORTANCE = "feature_importance"
    AVERAGE_SHAP = "average_shap"
    FULL_SHAP = "full_shap"
    TREES = "trees"


BUILT_IN = frozenset(
    value for name, value in vars(CollectionKeys).items() if not name.startswith("_")
)
# always saved in full
SCALAR_COLLECTIONS = frozenset(
    (
        CollectionKeys.LOSSES,
        CollectionKeys.METRICS,
        CollectionKeys.SM_METRICS,
        CollectionKeys.FEATURE_IMPORTANCE,
        CollectionKeys.AVERAGE_SHAP,
    )
)
NOT_IN_EVALUATIONS = frozenset((CollectionKeys.GRADIENTS, CollectionKeys.OPTIMIZER_VARIABLES))

_FIELDS = frozenset(
    (
        *("name", "include_regex", "tensor_names", "reduction_config", "save_config"),
        "save_histogram",
    )
)


class Collection:
    """A named group of tensors, selected by regular expressions or by name."""

    def __init__(
        self,
        name: str,
        include_regex: str | Iterable[str] | None = None,
        tensor_names: str | Iterable[str] | None = None,
        reduction_config: ReductionConfig | Mapping[str, Any] | None = None,
        save_config: SaveConfig | Mapping[Any, Any] | None = None,
        save_histogram: bool = True,
    ) -> None:
        self.name = name
        self.include_regex = _texts(include_regex)
        self._tensor_names: set[str] = set(_texts(tensor_names))
        self.reduction_config = ReductionConfig.parse(reduction_config)
        self.save_config = SaveConfig.parse(save_config)
        self.save_histogram = save_histogram

    @property
    def tensor_names(self) -> set[str]:
        """The names that were added or matched so far."""
        return self._tensor_names

    @tensor_names.setter
    def tensor_names(self, names: Iterable[str]) -> None:
        if isinstance(names, str) or not isinstance(names, list | tuple | set | frozenset):
            raise SMDebugTypeError(f"tensor_names must be a list or a set, not {names!r}")
        self._tensor_names = set(names)

    def include(self, t: str | Iterable[str]) -> None:
        """Add tensors whose names contain a match of a regular expression, or of one of several."""
        self.include_regex += _texts(t)

    def add_tensor_name(self, tname: str) -> None:
        """Add a tensor by its name."""
        if not isinstance(tname, str):
            raise SMDebugTypeError(f"Expected the name of a tensor, not {tname!r}")
        self._tensor_names.add(tname)

    def remove_tensor_name(self, name: str) -> None:
        """Remove a tensor that was added by its name."""
        self._tensor_names.discard(name)

    def has_tensor_name(self, tname: str) -> bool:
        """Whether a tensor was added, or matched so far."""
        return tname in self._tensor_names

    def holds(self, name: str) -> bool:
        """Whether a tensor belongs to the collection, by name or by a regular expression."""
        return name in self._tensor_names or any(
            re.search(pattern, name) for pattern in self.include_regex
        )

    def check_selection(self) -> None:
        """Raise InvalidCollectionConfiguration if nothing can belong to the collection."""
        is_empty = not self.include_regex and not self._tensor_names
        if is_empty and self.name not in BUILT_IN:
            raise InvalidCollectionConfiguration(self.name)

    def to_json_dict(self) -> dict[str, Any]:
        """The configuration by name."""
        return {
            "name": self.name,
            "include_regex": self.include_regex,
            "tensor_names": sorted(self._tensor_names),
            "reduction_config": self.reduction_config and self.reduction_config.to_json_dict(),
            "save_config": self.save_config and self.save_config.to_json_dict(),
            "save_histogram": self.save_histogram,
        }

    def to_json(self) -> str:
        """The configuration as a JSON text."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_dict(cls, params: Mapping[str, Any]) -> "Collection":
        """Create from a configuration by name."""
        if not isinstance(params, Mapping):
            raise SMDebugTypeError(f"Expected a dictionary, not {params!r}")
        return cls(**{key: value for key, value in params.items() if key in _FIELDS})

    @classmethod
    def from_json(cls, s: str) -> "Collection":
        """Create from a JSON text."""
        return cls.from_dict(json.loads(s))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Collection):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<Collection {self.name}: {self.include_regex}, {sorted(self._tensor_names)}>"


def _texts(values: str | Iterable[str] | None) -> list[str]:
    if values is None:
        return []
    if isinstance(values, str):
        return [values]
    texts = list(values)
    for text in texts:
        if not isinstance(text, str):
            raise SMDebugTypeError(f"Expected a text or a list of texts, not {text!r}")
    return texts
