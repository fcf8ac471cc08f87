"""Natural sort order of names."""

from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.natural_sort import natural_sort_key


@given(st.lists(st.integers(0, 10**30), max_size=20))
def test_numbers_in_names_are_sorted_by_value(numbers: list[int]) -> None:
    names = [f"layer.{number}.weight" for number in numbers]
    ordered = sorted(names, key=natural_sort_key)
    assert ordered == [f"layer.{number}.weight" for number in sorted(numbers)]


def test_texts_are_sorted_alphabetically_around_numbers() -> None:
    names = ["gpu10", "gpu9", "", "cpu", "cpu1", "10", "9", "²", "a.2.b", "a.2.a", "a.02.c"]
    assert sorted(names, key=natural_sort_key) == [
        *("", "9", "10", "a.2.a", "a.2.b", "a.02.c", "cpu", "cpu1", "gpu9", "gpu10", "²"),
    ]


def test_numbers_may_have_any_length() -> None:
    assert natural_sort_key("9" * 10_000) < natural_sort_key("1" + "0" * 10_000)
