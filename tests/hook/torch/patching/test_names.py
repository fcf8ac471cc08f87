"""Names, and the frames searched for them."""

import gc
import weakref

from sonde.hook.torch.patching.names import callers


class Held:
    """An object in a variable of a calling function."""


def caller_name() -> str:
    return next(callers()).f_code.co_name


def test_callers_do_not_include_the_calling_frame() -> None:
    assert caller_name() == "test_callers_do_not_include_the_calling_frame"


def test_callers_create_no_reference_cycles() -> None:
    def call() -> "weakref.ref[Held]":
        held = Held()
        for frame in callers():
            assert frame.f_locals is not None
        return weakref.ref(held)

    gc.disable()
    try:
        assert call()() is None
    finally:
        gc.enable()
