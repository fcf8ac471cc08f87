"""The order in which people count names that have numbers in them."""

import re

_NUMBER = re.compile(r"([0-9]+)")


def counting_order(name: str) -> list[tuple[int, str]]:
    """A key by which `gpu10` comes after `gpu9`, and layer 10 after layer 2."""
    return [
        _of_number(section) if index % 2 else (0, section)  # texts and numbers take turns
        for index, section in enumerate(_NUMBER.split(name))
    ]


def _of_number(digits: str) -> tuple[int, str]:
    """The longer the larger: of thousands of digits Python makes no number."""
    plain = digits.lstrip("0")
    return len(plain), plain
