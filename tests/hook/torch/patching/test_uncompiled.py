"""The compiler skips Sonde's functions."""

import importlib
import sys

import pytest

from sonde.hook.torch.patching.uncompiled import skip_in_compiler


def test_pytorch_is_not_imported_for_scripts_that_do_not_use_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[str] = []
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(importlib, "import_module", loaded.append)

    skip_in_compiler(lambda: None)

    assert loaded == []
