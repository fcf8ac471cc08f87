"""Names that are close to an unknown one are told in one way."""

from sonde.errors import did_you_mean, known_names


def test_the_closest_name_is_asked_for_and_comes_first() -> None:
    known = ["accuracy", "lost", "loss"]
    assert did_you_mean("los", known) == " Did you mean 'lost'?"
    assert known_names("acuracy", known) == (
        " Did you mean 'accuracy'? Available: accuracy, loss, lost"
    )


def test_where_none_is_close_some_are_told() -> None:
    assert known_names("x", ["b", "a", "a"]) == " Available: a, b"
    assert known_names("x", map(str, range(12))) == " Available: 0, 1, 10, 11, 2, 3, 4, 5, …"
    assert known_names("x", []) == " There is none."


def test_of_a_pattern_nothing_is_close() -> None:
    assert known_names("gpu.*", ["cpu.*"]) == " Available: cpu.*"
