"""Decode the part of Python's marshal format that cProfile writes.

The interpreter's own decoder may crash on a damaged file.
"""

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_REFERENCE = 0x80
_DIGIT_BITS = 15
_MAX_DEPTH = 20
_END = object()  # of a dictionary


class MarshalReader:
    """Decodes one value."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._offset = 0
        self._references: list[Any] = []
        self._depth = 0
        self._decoders: dict[str, Callable[[], Any]] = {
            "N": lambda: None,
            "T": lambda: True,
            "F": lambda: False,
            "0": lambda: _END,
            "i": lambda: self._number("<i"),
            "g": lambda: self._number("<d"),
            "l": self._long,
            "r": lambda: self._references[self._number("<I")],
            "(": lambda: self._tuple(self._number("<I")),
            ")": lambda: self._tuple(self._number("<B")),
            "{": self._dictionary,
            **dict.fromkeys("aAut", lambda: self._text(self._number("<I"))),
            **dict.fromkeys("zZ", lambda: self._text(self._number("<B"))),
        }

    def read(self) -> Any:
        """The value.

        Raises:
            ValueError: The data is truncated, damaged, or of another kind.
        """
        try:
            return self._value()
        except (IndexError, TypeError, struct.error) as error:
            raise ValueError(f"damaged near byte {self._offset}") from error

    def _value(self) -> Any:
        code = self._number("<B")
        decoder = self._decoders.get(chr(code & ~_REFERENCE))
        if decoder is None or self._depth > _MAX_DEPTH:
            raise ValueError(f"unknown kind of value near byte {self._offset}")
        slot = len(self._references)
        if code & _REFERENCE:
            self._references.append(None)
        self._depth += 1
        value = decoder()
        self._depth -= 1
        if code & _REFERENCE:
            self._references[slot] = value
        return value

    def _number(self, code: str) -> Any:
        (number,) = struct.unpack_from(code, self._data, self._offset)
        self._offset += struct.calcsize(code)
        return number

    def _text(self, size: int) -> str:
        start, self._offset = self._offset, self._offset + size
        if self._offset > len(self._data):
            raise ValueError("truncated")
        return self._data[start : self._offset].decode("utf-8", "replace")

    def _tuple(self, size: int) -> tuple[Any, ...]:
        if size > len(self._data) - self._offset:  # each item takes at least one byte
            raise ValueError("truncated")
        return tuple([self._value() for _ in range(size)])

    def _dictionary(self) -> dict[Any, Any]:
        values = {}
        while (key := self._value()) is not _END:
            values[key] = self._value()
        return values

    def _long(self) -> int:
        size = self._number("<i")
        digits = [self._number("<H") for _ in range(abs(size))]
        number: int = sum(digit << _DIGIT_BITS * index for index, digit in enumerate(digits))
        return number if size >= 0 else -number
