"""Arrow columns created without pandas have the given values."""

from hypothesis import given
from hypothesis import strategies as st

from sonde.store.tables import from_texts, repeated


@given(st.text(max_size=8), st.integers(0, 50))
def test_a_repeated_text_equals_a_list_of_it(text: str, times: int) -> None:
    assert repeated(text, times).equals(from_texts([text] * times))
    assert repeated(text, times).to_pylist() == [text] * times
