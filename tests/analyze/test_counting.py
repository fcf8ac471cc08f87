"""The order in which people count."""

from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.counting import counting_order


@given(st.lists(st.integers(0, 10**30), max_size=20))
def test_numbers_in_names_are_in_their_own_order(numbers: list[int]) -> None:
    names = [f"layer.{number}.weight" for number in numbers]
    ordered = sorted(names, key=counting_order)
    assert ordered == [f"layer.{number}.weight" for number in sorted(numbers)]


def test_texts_come_before_each_other_as_letters_do() -> None:
    names = ["gpu10", "gpu9", "", "cpu", "cpu1", "10", "9", "²", "a.2.b", "a.2.a", "a.02.c"]
    assert sorted(names, key=counting_order) == [
        *("", "9", "10", "a.2.a", "a.2.b", "a.02.c", "cpu", "cpu1", "gpu9", "gpu10", "²"),
    ]


def test_a_number_of_any_length_is_no_trouble() -> None:
    assert counting_order("9" * 10_000) < counting_order("1" + "0" * 10_000)
