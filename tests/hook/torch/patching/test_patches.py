"""Functions can be replaced and restored."""

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


def in_upper_case(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return original(*args).upper()

    return call


def test_a_replaced_function_is_called_and_can_be_undone() -> None:
    patches = Patches()

    patches.wrap(Parent, "greet", in_upper_case)
    assert Parent().greet() == "PARENT"

    patches.undo()
    assert Parent().greet() == "parent"


def test_an_inherited_method_is_inherited_again_after_undo() -> None:
    patches = Patches()
    patches.wrap(Child, "greet", in_upper_case)
    assert Child().greet() == "PARENT"

    patches.undo()

    assert "greet" not in vars(Child)


def test_functions_replaced_by_others_later_are_not_restored() -> None:
    class Target:
        def greet(self) -> str:
            return "target"

    patches = Patches()
    patches.wrap(Target, "greet", in_upper_case)
    foreign = lambda _self: "foreign"  # noqa: E731
    Target.greet = foreign  # type: ignore[method-assign]

    patches.undo()

    assert Target().greet() == "foreign"


def test_a_missing_function_is_ignored() -> None:
    patches = Patches()

    patches.wrap(Parent, "wave", in_upper_case)

    assert not hasattr(Parent, "wave")


def test_the_replacement_looks_like_the_original() -> None:
    patches = Patches()
    original = Parent.greet
    patches.wrap(Parent, "greet", in_upper_case)

    assert Parent.greet.__name__ == "greet"
    assert Parent.greet.__wrapped__ is original  # type: ignore[attr-defined]
    patches.undo()


def test_replaced_functions_are_listed_with_their_replacements() -> None:
    patches = Patches()
    original = Parent.greet
    patches.wrap(Parent, "greet", in_upper_case)

    assert list(patches.replaced()) == [(original, Parent.greet)]
    patches.undo()


def without_frame(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        try:
            return original(*args)
        except BaseException as error:
            drop_frame(error)
            raise

    return call


class Noisy:
    def warn(self, level: int) -> None:
        warnings.warn("noisy", stacklevel=level)

    def fail(self, level: int) -> None:
        raise ValueError(level)


def test_warnings_below_a_wrapper_name_the_same_line_as_without() -> None:
    def warned_lines() -> list[tuple[str, int]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for level in (1, 2, 3):
                Noisy().warn(level)
        return [(warning.filename, warning.lineno) for warning in caught]

    patches = Patches()
    lines = []
    for prepare in (patches.undo, lambda: patches.wrap(Noisy, "warn", without_frame)):
        prepare()
        lines.append(warned_lines())
    patches.undo()
    assert lines[1] == lines[0]


def test_exceptions_through_a_wrapper_have_the_same_traceback_as_without() -> None:
    def functions() -> list[str]:
        try:
            Noisy().fail(1)
        except ValueError as error:
            return [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        return []

    patches = Patches()
    plain = functions()
    patches.wrap(Noisy, "fail", without_frame)
    assert functions() == plain == ["functions", "fail"]
    patches.undo()
