"""Reset the state of the compiler between tests."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def new_compiler() -> Iterator[None]:
    """Reset the compiler, which skips all modules after a graph break inside a module."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    compiler = sys.modules.get("torch._dynamo")
    if compiler is not None:
        compiler.reset()
        sys.modules["torch._dynamo.utils"].counters.clear()
