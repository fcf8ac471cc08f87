import json

import pytest

from sonde.cli._command import print_json


def test_numbers_that_json_cannot_represent_become_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [float("nan"), 1.5], "b": {"c": float("inf")}, "d": (1, "x", None, True)})
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"a": [None, 1.5], "b": {"c": None}, "d": [1, "x", None, True]}
