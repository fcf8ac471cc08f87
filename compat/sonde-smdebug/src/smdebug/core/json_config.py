"""The JSON configuration file of a hook."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from smdebug.core.collection import Collection
from smdebug.core.modes import ModeKeys
from smdebug.core.reduction_config import ReductionConfig, is_true
from smdebug.core.save_config import SaveConfig
from smdebug.exceptions import SMDebugValueError

CONFIG_FILE_PATH_ENV_STR = "SMDEBUG_CONFIG_FILE_PATH"
DEFAULT_SAGEMAKER_PATH = "/opt/ml/input/config/debughookconfig.json"
DEFAULT_SAGEMAKER_OUTDIR = "/opt/ml/output/tensors"
TENSORBOARD_CONFIG_FILE_PATH_ENV_STR = "TENSORBOARD_CONFIG_FILE_PATH"

_INTEGERS = ("save_interval", "start_step", "end_step")
_REDUCTION_KEYS = ("reductions", "save_raw_tensor", "save_shape")
_FLAGS = ("save_all", "export_tensorboard", "dry_run")


def get_json_config_as_dict(json_config_path: str | None) -> dict[str, Any]:
    """The content of a configuration file; by default, of the one the environment names."""
    path = Path(
        json_config_path or os.environ.get(CONFIG_FILE_PATH_ENV_STR) or DEFAULT_SAGEMAKER_PATH
    )
    if not path.is_file():
        raise FileNotFoundError(
            f"No configuration file {path}. Pass its path, or set {CONFIG_FILE_PATH_ENV_STR}."
        )
    try:
        document = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise SMDebugValueError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise SMDebugValueError(f"{path} must contain a JSON object")
    return document


def hook_arguments(
    json_config_path: str | None, default_collections: Iterable[str] = ()
) -> tuple[dict[str, Any], list[Collection]]:
    """The arguments of a hook, and the collections that its file configures."""
    document = get_json_config_as_dict(json_config_path)
    parameters = {
        key: value
        for key, value in (document.get("HookParameters") or {}).items()
        if value is not None
    }
    save_config = _save_config(parameters, None) or SaveConfig()
    collections = [
        _collection(entry, save_config) for entry in document.get("CollectionConfigurations") or ()
    ]
    out_dir = os.environ.get("SMDEBUG_OUT_DIR") or document.get("LocalPath")
    arguments: dict[str, Any] = {
        "out_dir": out_dir or DEFAULT_SAGEMAKER_OUTDIR,
        "save_config": save_config,
        "reduction_config": _reduction_config(parameters),
        "include_regex": _texts(parameters.get("include_regex")),
        "include_collections": [*default_collections, *(each.name for each in collections)],
        "include_workers": parameters.get("include_workers", "one"),
        "tensorboard_dir": parameters.get("tensorboard_dir"),
        **{flag: is_true(parameters.get(flag, False)) for flag in _FLAGS},
    }
    return arguments, collections


def _collection(entry: Mapping[str, Any], default: SaveConfig) -> Collection:
    if "CollectionName" not in entry:
        raise SMDebugValueError("An entry of CollectionConfigurations has no CollectionName")
    parameters = entry.get("CollectionParameters") or {}
    return Collection(
        entry["CollectionName"],
        include_regex=_texts(parameters.get("include_regex")),
        reduction_config=_reduction_config(parameters),
        save_config=_save_config(parameters, default),
        save_histogram=is_true(parameters.get("save_histogram", True)),
    )


def _save_config(parameters: Mapping[str, Any], default: SaveConfig | None) -> SaveConfig | None:
    """The steps to save, with values of modes such as `train.save_interval`."""
    common = _save_values(parameters, "")
    by_mode = {mode: _save_values(parameters, f"{mode.name.lower()}.") for mode in ModeKeys}
    if not common and not any(by_mode.values()):
        return None
    merged = {}
    for mode, values in by_mode.items():
        inherited = {} if default is None else default.get_save_config(mode).to_json_dict()
        merged[mode] = {**inherited, **common, **values}
    return SaveConfig(mode_save_configs=merged)


def _save_values(parameters: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key in _INTEGERS:
        if parameters.get(prefix + key) not in (None, ""):
            values[key] = _whole(prefix + key, parameters[prefix + key])
    steps = parameters.get(f"{prefix}save_steps")
    if steps not in (None, ""):
        texts = steps if isinstance(steps, list) else str(steps).split(",")
        values["save_steps"] = [_whole(f"{prefix}save_steps", step) for step in texts]
    return values


def _reduction_config(parameters: Mapping[str, Any]) -> ReductionConfig | None:
    values = {key: parameters[key] for key in _REDUCTION_KEYS if key in parameters}
    return ReductionConfig.from_dict(values) if values else None


def _texts(value: Any) -> list[str] | None:
    if value is None:
        return None
    texts = value if isinstance(value, list) else str(value).split(",")
    return [text.strip() for text in texts if text.strip()]


def _whole(key: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise SMDebugValueError(f"{key} must be a whole number, not {value!r}") from error
