"""Functions of ours that the compiler leaves alone."""

import importlib
import sys

import pytest

from sonde.hook.torch.patching.uncompiled import leave_alone


def test_pytorch_is_not_loaded_for_a_script_that_does_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[str] = []
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(importlib, "import_module", loaded.append)

    leave_alone(lambda: None)

    assert loaded == []
