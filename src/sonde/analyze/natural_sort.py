"""Natural sort order of names with numbers."""

import re

_NUMBER = re.compile(r"([0-9]+)")


def natural_sort_key(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts `gpu10` after `gpu9`, and layer 10 after layer 2."""
    return [
        _number_key(section) if index % 2 else (0, section)  # texts and numbers alternate
        for index, section in enumerate(_NUMBER.split(name))
    ]


def _number_key(digits: str) -> tuple[int, str]:
    """Compare numbers by length first: Python refuses to convert thousands of digits to int."""
    significant = digits.lstrip("0")
    return len(significant), significant
