"""Suggestions of similar names in error messages."""

from sonde.errors import did_you_mean, known_names


def test_the_closest_name_is_suggested_first() -> None:
    expected = ["accuracy", "lost", "loss"]
    assert did_you_mean("los", expected) == " Did you mean 'lost'?"
    assert known_names("acuracy", expected) == (
        " Did you mean 'accuracy'? Available: accuracy, loss, lost"
    )


def test_without_a_similar_name_some_names_are_listed() -> None:
    assert known_names("x", ["b", "a", "a"]) == " Available: a, b"
    assert known_names("x", map(str, range(12))) == " Available: 0, 1, 10, 11, 2, 3, 4, 5, …"
    assert known_names("x", []) == " None are available."


def test_a_pattern_has_no_similar_names() -> None:
    assert known_names("gpu.*", ["cpu.*"]) == " Available: cpu.*"
