"""Collections and reductions of the old client."""

import json
from pathlib import Path

import pytest

from smdebug import ReductionConfig, SaveConfig
from smdebug.core.collection import Collection
from smdebug.core.collection_manager import CollectionManager
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError


def test_collection_holds_matches_anywhere_in_a_name_and_added_names() -> None:
    collection = Collection("relus", include_regex="relu")
    collection.include(["^tanh", "sigmoid_output"])
    collection.add_tensor_name("custom")
    names = ("net_relu_0", "tanh_1", "my_tanh", "a_sigmoid_output_0", "custom")
    assert [name for name in names if collection.holds(name)] == [
        name for name in names if name != "my_tanh"
    ]
    assert collection.has_tensor_name("custom")
    collection.remove_tensor_name("custom")
    assert not collection.holds("custom")


def test_collection_survives_json() -> None:
    collection = Collection(
        "c", ["a", "b"], ["t"], ReductionConfig(["min"], norms=["l2"]), SaveConfig(save_interval=3)
    )
    assert Collection.from_json(collection.to_json()) == collection
    assert Collection.from_json(Collection("plain").to_json()) == Collection("plain")


def test_tensor_names_are_a_set_that_can_be_replaced() -> None:
    collection = Collection("c", tensor_names=["a", "b"])
    collection.tensor_names = ["c"]
    assert collection.tensor_names == {"c"}
    with pytest.raises(SMDebugTypeError):
        collection.tensor_names = "c"


def test_manager_creates_replaces_and_exports_collections(tmp_path: Path) -> None:
    manager = CollectionManager()
    manager.add("first")
    manager.get("second", create=True).include("x")
    manager.add(Collection("first", include_regex="y"))
    assert manager.get("first").include_regex == ["y"]
    with pytest.raises(KeyError):
        manager.get("third")
    manager.set_num_workers(3)
    manager.export(str(tmp_path), "worker_0_collections.json")
    loaded = CollectionManager.load(str(tmp_path / "worker_0_collections.json"))
    assert loaded == manager
    assert loaded.get_num_workers() == 3
    with pytest.raises(SMDebugValueError, match="Unknown key 'other'"):
        CollectionManager.load_from_string(json.dumps({"other": {}}))


def test_reductions_are_validated() -> None:
    config = ReductionConfig(["std", "median"], ["mean"], ["l1"], ["l2"], save_raw_tensor=True)
    assert config.pairs == (
        *(("std", False), ("median", False), ("l1", False)),
        *(("mean", True), ("l2", True)),
    )
    for arguments in ({"reductions": ["kurtosis"]}, {"norms": ["l3"]}, {"reductions": "min"}):
        with pytest.raises(SMDebugValueError):
            ReductionConfig(**arguments)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"reductions": "min,abs_max"}, ReductionConfig(["min"], ["max"])),
        ({"reductions": "l1_norm,abs_l2_norm"}, ReductionConfig(norms=["l1"], abs_norms=["l2"])),
        ({"reductions": "l1,abs_l1"}, ReductionConfig(norms=["l1"], abs_norms=["l1"])),
        ({"save_raw_tensor": "true"}, ReductionConfig(save_raw_tensor=True)),
        ({"save_shape": True}, ReductionConfig(save_shape=True)),
    ],
)
def test_reductions_of_a_configuration_file(
    params: dict[str, object], expected: ReductionConfig
) -> None:
    config = ReductionConfig.from_dict(params)
    assert config == expected
    assert config is not None
    assert ReductionConfig.from_json(config.to_json()) == config
