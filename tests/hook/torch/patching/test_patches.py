"""Functions that are replaced, and put back."""

import traceback
import warnings
from collections.abc import Callable
from typing import Any

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.torch.patching.patches import Patches


class Parent:
    def greet(self) -> str:
        return "parent"


class Child(Parent):
    pass


def louder(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return original(*args).upper()

    return call


def test_a_replaced_function_is_called_and_can_be_undone() -> None:
    patches = Patches()

    patches.wrap(Parent, "greet", louder)
    assert Parent().greet() == "PARENT"

    patches.undo()
    assert Parent().greet() == "parent"


def test_what_was_inherited_is_inherited_again() -> None:
    patches = Patches()
    patches.wrap(Child, "greet", louder)
    assert Child().greet() == "PARENT"

    patches.undo()

    assert "greet" not in vars(Child)


def test_what_somebody_else_replaced_afterwards_is_left_to_them() -> None:
    class Target:
        def greet(self) -> str:
            return "target"

    patches = Patches()
    patches.wrap(Target, "greet", louder)
    theirs = lambda _self: "theirs"  # noqa: E731
    Target.greet = theirs  # type: ignore[method-assign]

    patches.undo()

    assert Target().greet() == "theirs"


def test_a_function_that_is_not_there_is_left_alone() -> None:
    patches = Patches()

    patches.wrap(Parent, "wave", louder)

    assert not hasattr(Parent, "wave")


def test_the_replacement_looks_like_the_original() -> None:
    patches = Patches()
    original = Parent.greet
    patches.wrap(Parent, "greet", louder)

    assert Parent.greet.__name__ == "greet"
    assert Parent.greet.__wrapped__ is original  # type: ignore[attr-defined]
    patches.undo()


def test_what_was_replaced_is_told_with_its_replacement() -> None:
    patches = Patches()
    original = Parent.greet
    patches.wrap(Parent, "greet", louder)

    assert list(patches.replaced()) == [(original, Parent.greet)]
    patches.undo()


def quieter(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        try:
            return original(*args)
        except BaseException as error:
            drop_frame(error)
            raise

    return call


class Careless:
    def warn(self, level: int) -> None:
        warnings.warn("careless", stacklevel=level)

    def fail(self, level: int) -> None:
        raise ValueError(level)


def test_a_warning_below_a_wrapper_names_the_line_that_it_names_without() -> None:
    def places() -> list[tuple[str, int]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for level in (1, 2, 3):
                Careless().warn(level)
        return [(one.filename, one.lineno) for one in caught]

    patches = Patches()
    found = []
    for prepare in (patches.undo, lambda: patches.wrap(Careless, "warn", quieter)):
        prepare()
        found.append(places())
    patches.undo()
    assert found[1] == found[0]


def test_an_exception_that_passes_a_wrapper_has_the_traceback_that_it_has_without() -> None:
    def functions() -> list[str]:
        try:
            Careless().fail(1)
        except ValueError as error:
            return [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        return []

    patches = Patches()
    alone = functions()
    patches.wrap(Careless, "fail", quieter)
    assert functions() == alone == ["functions", "fail"]
    patches.undo()
