"""Bytes that change by themselves, as on old disks."""

from collections.abc import Iterator


def flipped(data: bytes, bit: int) -> bytes:
    """The same with one bit turned over."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def all_flips(data: bytes, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """Every bit of the data turned over, one at a time, or every so-manieth."""
    for bit in range(0, 8 * len(data), step):
        yield bit, flipped(data, bit)
