"""Columns made without pandas hold what they were made of."""

from hypothesis import given
from hypothesis import strategies as st

from sonde.store.tables import from_texts, repeated


@given(st.text(max_size=8), st.integers(0, 50))
def test_a_text_that_is_repeated_is_the_same_as_a_list_of_it(text: str, times: int) -> None:
    assert repeated(text, times).equals(from_texts([text] * times))
    assert repeated(text, times).to_pylist() == [text] * times
