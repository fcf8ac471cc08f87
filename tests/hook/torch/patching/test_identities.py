"""Objects known by what they are."""

import gc

import pytest

from sonde.hook.torch.patching.identities import IdentityMap, IdentitySet


class Contrary:
    """Says that it equals everything, and cannot be hashed."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        raise AttributeError("not made yet")


def test_an_object_that_cannot_be_hashed_is_known() -> None:
    known: IdentitySet[Contrary] = IdentitySet()
    first, second = Contrary(), Contrary()

    known.add(first)

    assert first in known
    assert second not in known
    assert list(known) == [first]


def test_what_is_gone_is_forgotten() -> None:
    known: IdentityMap[Contrary, int] = IdentityMap()
    first, second = Contrary(), Contrary()
    known[first], known[second] = 1, 2

    del second
    gc.collect()

    assert [value for _, value in known] == [1]
    assert len(known) == 1


@pytest.mark.parametrize("times", [1, 50])
def test_a_new_object_in_an_old_one_s_place_is_not_taken_for_it(times: int) -> None:
    known: IdentityMap[Contrary, int] = IdentityMap()
    for number in range(times):
        one = Contrary()
        assert known.get(one) is None
        known[one] = number
        del one
