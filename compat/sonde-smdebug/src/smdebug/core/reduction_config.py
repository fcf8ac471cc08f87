"""What to save of a tensor: the full value, its shape, or reductions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

ALLOWED_REDUCTIONS = ("min", "max", "median", "mean", "std", "variance", "sum", "prod")
ALLOWED_NORMS = ("l1", "l2")
ALLOWED_PARAMS = ("save_raw_tensor", "reductions", "save_shape")
REDUCTION_CONFIG_VERSION_NUM = "v0"

_GROUPS = ("reductions", "abs_reductions", "norms", "abs_norms")


class ReductionConfig:
    """The reductions to save of a tensor instead of its full value, or in addition to it."""

    def __init__(
        self,
        reductions: Sequence[str] | None = None,
        abs_reductions: Sequence[str] | None = None,
        norms: Sequence[str] | None = None,
        abs_norms: Sequence[str] | None = None,
        save_raw_tensor: bool = False,
        save_shape: bool = False,
    ) -> None:
        self.reductions = _checked("reductions", reductions, ALLOWED_REDUCTIONS)
        self.abs_reductions = _checked("abs_reductions", abs_reductions, ALLOWED_REDUCTIONS)
        self.norms = _checked("norms", norms, ALLOWED_NORMS)
        self.abs_norms = _checked("abs_norms", abs_norms, ALLOWED_NORMS)
        self.save_raw_tensor = save_raw_tensor
        self.save_shape = save_shape

    @property
    def pairs(self) -> tuple[tuple[str, bool], ...]:
        """Every reduction, and whether it is of the absolute values."""
        return (
            *((name, False) for name in (*self.reductions, *self.norms)),
            *((name, True) for name in (*self.abs_reductions, *self.abs_norms)),
        )

    def to_json_dict(self) -> dict[str, Any]:
        """The values by name; reductions as one text."""
        names = [
            *self.reductions,
            *(f"abs_{name}" for name in self.abs_reductions),
            *(f"{name}_norm" for name in self.norms),
            *(f"abs_{name}_norm" for name in self.abs_norms),
        ]
        return {
            "save_raw_tensor": self.save_raw_tensor,
            "reductions": ",".join(names),
            "save_shape": self.save_shape,
        }

    def to_json(self) -> str:
        """The values as a JSON text."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_dict(cls, params: Mapping[str, Any] | None) -> "ReductionConfig | None":
        """Create from a dictionary such as `{"reductions": "min,abs_max,l2_norm"}`."""
        if params is None:
            return None
        if not isinstance(params, Mapping):
            raise SMDebugTypeError(f"Expected a dictionary, not {params!r}")
        unknown = sorted(set(params) - set(ALLOWED_PARAMS))
        if unknown:
            raise SMDebugValueError(f"Unknown reduction parameter {unknown[0]!r}")
        return cls(
            **_grouped(_names(params.get("reductions", ""))),
            save_raw_tensor=is_true(params.get("save_raw_tensor", False)),
            save_shape=is_true(params.get("save_shape", False)),
        )

    @classmethod
    def from_json(cls, json_str: str) -> "ReductionConfig | None":
        """Create from a JSON text."""
        return cls.from_dict(json.loads(json_str))

    @classmethod
    def parse(cls, params: Any) -> "ReductionConfig | None":
        """Create from anything that describes one: another one, a dictionary, None."""
        return params if params is None or isinstance(params, cls) else cls.from_dict(params)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReductionConfig):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"<ReductionConfig {self.to_json_dict()}>"


def is_true(value: object) -> bool:
    """Whether a setting of a configuration file is on: true, "true" or 1."""
    if isinstance(value, bool):
        return value
    if str(value).strip().lower() in ("true", "1", "yes"):
        return True
    if str(value).strip().lower() in ("false", "0", "no", "none", ""):
        return False
    raise SMDebugValueError(f"Expected true or false, not {value!r}")


def _checked(group: str, names: Sequence[str] | None, allowed: tuple[str, ...]) -> list[str]:
    if isinstance(names, str):
        raise SMDebugValueError(f"{group} must be a list, not {names!r}")
    for name in names or ():
        if name not in allowed:
            raise SMDebugValueError(f"Unknown name in {group}: {name!r}. Use: {', '.join(allowed)}")
    return list(names or ())


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    return list(value or ())


def _grouped(names: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {group: [] for group in _GROUPS}
    for name in names:
        plain = name.removeprefix("abs_").removesuffix("_norm")
        kind = "norms" if plain in ALLOWED_NORMS else "reductions"
        groups[f"abs_{kind}" if name.startswith("abs_") else kind].append(plain)
    return groups
