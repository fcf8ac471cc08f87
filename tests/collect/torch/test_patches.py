"""Functions that are replaced, and put back."""

from collections.abc import Callable
from typing import Any

from sonde.collect.torch.patches import Patches


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
