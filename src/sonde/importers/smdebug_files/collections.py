"""Collections of smdebug: which tensors belong to which collection."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from sonde.records.tensor import BUILT_IN_COLLECTIONS, TensorKind

_DEFAULT_PATTERNS = {
    "weights": "^(?!gradient).*weight",
    "biases": "^(?!gradient).*bias",
    "gradients": "^gradient",
    "losses": "[Ll]oss_(?!input).*output",
}
_ALL = "all"


@dataclass(slots=True)
class Collections:
    """The collections of a worker, by the names and patterns of their tensors."""

    names: dict[str, set[str]] = field(default_factory=dict)
    patterns: dict[str, list[re.Pattern[str]]] = field(default_factory=dict)

    @classmethod
    def default(cls) -> "Collections":
        """The patterns that smdebug uses for PyTorch, for recordings without a list."""
        patterns = {name: [re.compile(text)] for name, text in _DEFAULT_PATTERNS.items()}
        return cls({}, patterns)

    @classmethod
    def decode(cls, data: bytes) -> "Collections":
        """Decode a `*_collections.json` file.

        Raises:
            ValueError: It is truncated or damaged.
        """
        document = json.loads(data)
        listed = document.get("collections") if isinstance(document, dict) else None
        collections = cls()
        for name, entry in listed.items() if isinstance(listed, dict) else ():
            if isinstance(entry, dict):
                collections.names[name] = set(map(str, _texts(entry.get("tensor_names"))))
                collections.patterns[name] = _compiled(_texts(entry.get("include_regex")))
        return collections

    def of(self, tensor: str) -> tuple[str, ...]:
        """The collections of a tensor; all tensors belong to `all`."""
        names = [
            name
            for name in self.names.keys() | self.patterns.keys()
            if tensor in self.names.get(name, ())
            or any(pattern.search(tensor) for pattern in self.patterns.get(name, ()))
        ]
        kinds = {
            kind
            for name in names
            if name not in (_ALL, "default")
            for kind in BUILT_IN_COLLECTIONS.get(name, ())
        }
        if kinds & {TensorKind.LOSS, TensorKind.METRIC}:
            names.append("default")
        return tuple(sorted({*names, _ALL}))


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _compiled(patterns: list[str]) -> list[re.Pattern[str]]:
    compiled = []
    for text in patterns:
        try:
            compiled.append(re.compile(text))
        except re.error:
            continue  # smdebug cannot use it either
    return compiled
