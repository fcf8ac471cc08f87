import argparse
import json
from importlib.metadata import EntryPoint

import pytest

from sonde.cli._command import print_json, store_uri


def test_numbers_that_json_cannot_represent_become_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [float("nan"), 1.5], "b": {"c": float("inf")}, "d": (1, "x", None, True)})
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"a": [None, 1.5], "b": {"c": None}, "d": [1, "x", None, True]}


@pytest.mark.parametrize("uri", ["gs://bucket/jobs", "memory://jobs"])
def test_a_store_without_a_backend_for_other_processes_is_refused(uri: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a store"):
        store_uri(uri)


def test_the_backend_of_another_package_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("gs", "elsewhere:Bucket", "sonde.store.backends")]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group else [])
    assert store_uri("gs://bucket/jobs") == "gs://bucket/jobs"
