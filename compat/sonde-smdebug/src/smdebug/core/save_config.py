"""When to save: intervals and steps per mode."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from smdebug.core.modes import ModeKeys
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

DEFAULT_SAVE_INTERVAL = 500
DEFAULT_START_STEP = 0

_KEYS = ("save_interval", "start_step", "end_step", "save_steps")


class SaveConfigMode:
    """The steps of one mode to save: every interval in a range, and the listed ones."""

    def __init__(
        self,
        save_interval: int | None = None,
        start_step: int | None = None,
        end_step: int | None = None,
        save_steps: Sequence[int] | None = None,
    ) -> None:
        _check_whole("save_interval", save_interval, minimum=1)
        _check_whole("start_step", start_step, minimum=0)
        _check_whole("end_step", end_step, minimum=0)
        if save_steps is not None and not isinstance(save_steps, list | tuple):
            raise SMDebugValueError(f"save_steps must be a list of steps, not {save_steps!r}")
        for step in save_steps or ():
            _check_whole("save_steps", step, minimum=0)
        self.save_interval = DEFAULT_SAVE_INTERVAL if save_interval is None else save_interval
        self.start_step = DEFAULT_START_STEP if start_step is None else start_step
        self.end_step = end_step
        self.save_steps: list[int] = list(save_steps or ())

    def should_save_step(self, step: int) -> bool:
        """Whether a step of this mode is saved."""
        if step in self.save_steps:
            return True
        is_in_range = step >= self.start_step and (self.end_step is None or step < self.end_step)
        return is_in_range and step % self.save_interval == 0

    def to_json_dict(self) -> dict[str, Any]:
        """The values by name."""
        return {key: getattr(self, key) for key in _KEYS}

    def to_json(self) -> str:
        """The values as a JSON text."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_dict(cls, params: Mapping[str, Any]) -> "SaveConfigMode":
        """Create from values by name."""
        unknown = sorted(set(params) - set(_KEYS))
        if unknown:
            raise SMDebugValueError(f"Unknown save parameter {unknown[0]!r}. Use: {_KEYS}")
        return cls(**params)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SaveConfigMode):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"<SaveConfigMode {self.to_json_dict()}>"


def _of_all_modes(key: str) -> Any:
    """A property that sets a value for all modes, and reads that of `GLOBAL`."""

    def get(config: "SaveConfig") -> Any:
        return getattr(config.mode_save_configs[ModeKeys.GLOBAL], key)

    def set_(config: "SaveConfig", value: Any) -> None:
        for save_config_mode in config.mode_save_configs.values():
            setattr(save_config_mode, key, value)

    return property(get, set_)


class SaveConfig:
    """The steps to save, for each mode."""

    save_interval = _of_all_modes("save_interval")
    start_step = _of_all_modes("start_step")
    end_step = _of_all_modes("end_step")
    save_steps = _of_all_modes("save_steps")

    def __init__(
        self,
        mode_save_configs: Mapping[ModeKeys, SaveConfigMode | Mapping[str, Any]] | None = None,
        save_interval: int | None = None,
        start_step: int | None = None,
        end_step: int | None = None,
        save_steps: Sequence[int] | None = None,
    ) -> None:
        common = (save_interval, start_step, end_step, save_steps)
        self.mode_save_configs = {mode: SaveConfigMode(*common) for mode in ModeKeys}
        if mode_save_configs is None:
            return
        if not isinstance(mode_save_configs, Mapping):
            raise SMDebugTypeError("mode_save_configs must be a dictionary of SaveConfigMode")
        for mode, config in mode_save_configs.items():
            if not isinstance(mode, ModeKeys):
                raise SMDebugValueError(f"{mode!r} is not a mode. Use modes.TRAIN, modes.EVAL, …")
            self.set_save_config(mode, config)

    def get_save_config(self, mode: ModeKeys) -> SaveConfigMode:
        """The steps of a mode."""
        if not isinstance(mode, ModeKeys):
            raise SMDebugValueError(f"{mode!r} is not a mode. Use modes.TRAIN, modes.EVAL, …")
        return self.mode_save_configs[mode]

    def set_save_config(
        self, mode: ModeKeys, save_config_mode: SaveConfigMode | Mapping[str, Any]
    ) -> None:
        """Set the steps of a mode."""
        if isinstance(save_config_mode, Mapping):
            save_config_mode = SaveConfigMode.from_dict(save_config_mode)
        if not isinstance(save_config_mode, SaveConfigMode):
            raise SMDebugTypeError(f"Expected a SaveConfigMode, not {save_config_mode!r}")
        self.mode_save_configs[mode] = save_config_mode

    def should_save_step(self, mode: ModeKeys, step_num: int) -> bool:
        """Whether a step of a mode is saved."""
        return self.get_save_config(mode).should_save_step(step_num)

    def merge_default_save_config(self, default_save_config: "SaveConfig") -> None:
        """Use another configuration for the modes that this one leaves at the default."""
        for mode, config in self.mode_save_configs.items():
            if config == SaveConfigMode():
                self.mode_save_configs[mode] = default_save_config.get_save_config(mode)

    def to_json_dict(self) -> dict[str, Any]:
        """The values of each mode, by its name."""
        return {mode.name: self.mode_save_configs[mode].to_json_dict() for mode in ModeKeys}

    def to_json(self) -> str:
        """The values of each mode as a JSON text."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_dict(
        cls, params: Mapping[Any, Any], default_values: Mapping[str, Any] | None = None
    ) -> "SaveConfig":
        """Create from values for all modes, or from values by mode.

        Args:
            params: Such as `{"save_interval": 10}` or `{"TRAIN": {"save_interval": 10}}`.
            default_values: For all modes that `params` does not contain.
        """
        by_mode = {_mode(key): value for key, value in params.items() if key not in _KEYS}
        common = {key: value for key, value in params.items() if key in _KEYS}
        return cls(mode_save_configs=by_mode, **{**(default_values or {}), **common})

    @classmethod
    def from_json(cls, json_str: str) -> "SaveConfig":
        """Create from a JSON text."""
        return cls.from_dict(json.loads(json_str))

    @classmethod
    def parse(cls, params: Any) -> "SaveConfig | None":
        """Create from anything that describes one: another one, a dictionary, None."""
        if params is None or isinstance(params, cls):
            return params
        if isinstance(params, Mapping):
            return cls.from_dict(params)
        raise SMDebugTypeError(f"save_config must be a SaveConfig, not {params!r}")

    @classmethod
    def of_hook(cls, params: Any) -> "SaveConfig":
        """Create from anything that describes one; by default, every 500 steps."""
        return cls.parse(params) or cls()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SaveConfig):
            return NotImplemented
        return self.mode_save_configs == other.mode_save_configs

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"<SaveConfig {self.to_json_dict()}>"


def _mode(key: Any) -> ModeKeys:
    if isinstance(key, ModeKeys):
        return key
    if isinstance(key, str) and key.upper() in ModeKeys.__members__:
        return ModeKeys[key.upper()]
    raise SMDebugValueError(f"Unknown save parameter or mode {key!r}")


def _check_whole(name: str, value: object, minimum: int) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise SMDebugValueError(f"{name} must be a whole number of at least {minimum}: {value!r}")
