"""Flip bits, as failing disks do."""

from collections.abc import Iterator


def flipped(data: bytes, bit: int) -> bytes:
    """Return the data with one bit flipped."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def all_flips(data: bytes, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """Yield the data with each bit, or every `step`-th bit, flipped."""
    for bit in range(0, 8 * len(data), step):
        yield bit, flipped(data, bit)
