"""Frames: truncation leaves complete frames readable, and a flipped bit costs one frame."""

import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.errors import FormatTooNewError
from sonde.store.frames import Damage, Frame, FrameKind, FrameScan, encode_frame
from tests.fakes.damage import all_flips, flipped

PAYLOADS = st.lists(st.binary(max_size=120) | st.just(b"abc" * 200), min_size=1, max_size=5)


def encoded(payloads: list[bytes]) -> list[bytes]:
    kinds = [FrameKind.SCHEMA] + [FrameKind.BATCH] * len(payloads)
    return [encode_frame(kind, payload) for kind, payload in zip(kinds, payloads, strict=False)]


def read_frames(data: bytes) -> tuple[list[Frame], list[Damage]]:
    """Return all intact frames and the damaged ranges."""
    scan = FrameScan(data)
    return list(scan), scan.damages


@given(PAYLOADS)
@settings(max_examples=50)
def test_encoded_frames_are_read_back(payloads: list[bytes]) -> None:
    frames, damages = read_frames(b"".join(encoded(payloads)))

    assert [frame.payload for frame in frames] == payloads
    assert damages == []


@given(PAYLOADS, st.data())
@settings(max_examples=100)
def test_any_prefix_yields_its_complete_frames_without_damage(
    payloads: list[bytes], data: st.DataObject
) -> None:
    pieces = encoded(payloads)
    cut = data.draw(st.integers(0, sum(map(len, pieces))))

    frames, damages = read_frames(b"".join(pieces)[:cut])

    ends = [sum(map(len, pieces[: number + 1])) for number in range(len(pieces))]
    complete = sum(end <= cut for end in ends)
    assert [frame.payload for frame in frames] == payloads[:complete]
    assert damages == []


def test_every_flipped_bit_is_detected_and_costs_one_frame() -> None:
    payloads = [b"schema", b"first", b"second, which is longer and longer and longer", b"", b"x"]
    data = b"".join(encoded(payloads))

    for bit, damaged in all_flips(data):
        frames, damages = read_frames(damaged)
        result = [frame.payload for frame in frames]
        assert len(damages) == 1, bit
        assert result in [payloads[:n] + payloads[n + 1 :] for n in range(len(payloads))], bit


@given(PAYLOADS, st.data())
@settings(max_examples=100)
def test_a_flipped_bit_costs_only_its_own_frame(payloads: list[bytes], data: st.DataObject) -> None:
    pieces = encoded(payloads)
    number = data.draw(st.integers(0, len(pieces) - 1))
    bit = data.draw(st.integers(0, 8 * len(pieces[number]) - 1))
    pieces[number] = flipped(pieces[number], bit)

    frames, damages = read_frames(b"".join(pieces))

    assert [frame.payload for frame in frames] == payloads[:number] + payloads[number + 1 :]
    assert [damage.offset for damage in damages] == [sum(map(len, pieces[:number]))]


def test_a_scan_continues_where_the_last_one_ended() -> None:
    first, second, third = encoded([b"one", b"two", b"three"])
    early = FrameScan(first + second[:7])
    assert [frame.payload for frame in early] == [b"one"]

    later = FrameScan((first + second + third)[early.end :], early.end)

    assert [(frame.offset, frame.payload) for frame in later] == [
        (len(first), b"two"),
        (len(first + second), b"three"),
    ]
    assert later.end == len(first + second + third)


def test_bytes_without_any_frame_are_one_damaged_range() -> None:
    frames, damages = read_frames(b"\x00" * 4096)

    assert frames == []
    assert [(damage.offset, damage.length) for damage in damages] == [(0, 4096)]


@pytest.mark.parametrize(("kind", "codec"), [(9, 0), (2, 9)])
def test_a_frame_of_an_unknown_kind_or_codec_is_too_new(kind: int, codec: int) -> None:
    fields = struct.pack("<4sBBHII", b"\xf5SND", kind, codec, 0, 3, zlib.crc32(b"new"))
    frame = fields + struct.pack("<I", zlib.crc32(fields)) + b"new"

    with pytest.raises(FormatTooNewError, match="pip install -U sonde"):
        read_frames(frame)
