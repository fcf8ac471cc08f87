"""Collections keyed by object identity."""

import gc

import pytest

from sonde.hook.torch.patching.identities import IdentityMap, IdentitySet


class Unhashable:
    """An object that equals every other object and cannot be hashed."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        raise AttributeError("not initialized yet")


def test_unhashable_objects_are_supported() -> None:
    items: IdentitySet[Unhashable] = IdentitySet()
    first, second = Unhashable(), Unhashable()

    items.add(first)

    assert first in items
    assert second not in items
    assert list(items) == [first]


def test_deleted_objects_are_removed() -> None:
    items: IdentityMap[Unhashable, int] = IdentityMap()
    first, second = Unhashable(), Unhashable()
    items[first], items[second] = 1, 2

    del second
    gc.collect()

    assert [value for _, value in items] == [1]
    assert len(items) == 1


@pytest.mark.parametrize("count", [1, 50])
def test_a_new_object_with_a_reused_id_is_not_mistaken_for_the_old_one(count: int) -> None:
    items: IdentityMap[Unhashable, int] = IdentityMap()
    for number in range(count):
        item = Unhashable()
        assert items.get(item) is None
        items[item] = number
        del item
