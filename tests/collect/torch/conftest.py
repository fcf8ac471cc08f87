"""What the compiler has learned in one test must not be known in the next."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def new_compiler() -> Iterator[None]:
    """A graph that breaks inside a module makes the compiler skip all modules from then on."""
    yield
    compiler = sys.modules.get("torch._dynamo")
    if compiler is not None:
        compiler.reset()
