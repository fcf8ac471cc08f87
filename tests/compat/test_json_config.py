"""Configuration files of the old client."""

import json
from pathlib import Path
from typing import Any

import pytest

from smdebug import ReductionConfig, modes
from smdebug.core.collection import Collection
from smdebug.core.json_config import hook_arguments
from smdebug.exceptions import SMDebugValueError

EVERYTHING = {
    "S3OutputPath": "s3://bucket/prefix",
    "LocalPath": "/tmp/tensors",
    "HookParameters": {
        "save_interval": "2",
        "eval.save_interval": "5",
        "save_steps": "3,4",
        "end_step": 100,
        "save_all": "true",
        "include_regex": "relu, tanh",
        "include_workers": "all",
        "reductions": "min,abs_mean",
        "dry_run": "true",
    },
    "CollectionConfigurations": [
        {
            "CollectionName": "weights",
            "CollectionParameters": {
                "save_interval": 7,
                "reductions": "l2_norm",
                "save_histogram": "false",
            },
        },
        {"CollectionName": "custom", "CollectionParameters": {"include_regex": "fc1,fc2"}},
    ],
}


def read(
    folder: Path, document: object, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], list[Collection]]:
    file = folder / "hook.json"
    file.write_text(json.dumps(document))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(file))
    return hook_arguments(None, ["losses"])


def test_every_parameter_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, (weights, custom) = read(tmp_path, EVERYTHING, monkeypatch)
    config = arguments.pop("save_config")
    assert config.get_save_config(modes.TRAIN).to_json_dict() == {
        "save_interval": 2,
        "start_step": 0,
        "end_step": 100,
        "save_steps": [3, 4],
    }
    assert config.get_save_config(modes.EVAL).save_interval == 5
    assert arguments == {
        "out_dir": "/tmp/tensors",
        "reduction_config": ReductionConfig(["min"], ["mean"]),
        "include_regex": ["relu", "tanh"],
        "include_collections": ["losses", "weights", "custom"],
        "include_workers": "all",
        "tensorboard_dir": None,
        "save_all": True,
        "export_tensorboard": False,
        "dry_run": True,
    }
    assert weights.save_config is not None
    assert weights.save_config.get_save_config(modes.TRAIN).save_interval == 7
    assert weights.save_config.get_save_config(modes.TRAIN).end_step == 100, "inherited"
    assert weights.reduction_config == ReductionConfig(norms=["l2"])
    assert not weights.save_histogram
    assert custom.include_regex == ["fc1", "fc2"]
    assert custom.save_config is None


def test_a_file_may_only_contain_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, collections = read(tmp_path, {"LocalPath": "/tmp/tensors"}, monkeypatch)
    assert arguments["out_dir"] == "/tmp/tensors"
    assert arguments["save_config"].should_save_step(modes.TRAIN, 500)
    assert collections == []


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"HookParameters": {"save_interval": "often"}},
        {"HookParameters": {"save_all": "perhaps"}},
        {"CollectionConfigurations": [{"CollectionParameters": {}}]},
    ],
)
def test_invalid_files_are_refused(
    document: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SMDebugValueError):
        read(tmp_path, document, monkeypatch)


def test_missing_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", "/nowhere/hook.json")
    with pytest.raises(FileNotFoundError, match="No configuration file /nowhere"):
        hook_arguments(None)
