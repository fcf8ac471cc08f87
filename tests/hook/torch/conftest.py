"""What the compiler has learned in one test must not be known in the next."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def new_compiler() -> Iterator[None]:
    """A graph that breaks inside a module makes the compiler skip all modules from then on."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    compiler = sys.modules.get("torch._dynamo")
    if compiler is not None:
        compiler.reset()
        sys.modules["torch._dynamo.utils"].counters.clear()
