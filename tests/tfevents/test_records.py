"""Event files: framing, checksums, messages, and every kind of damage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.tfevents.arrays import decode_array
from sonde.tfevents.events import (
    HistogramBuckets,
    decode_event,
    encode_event,
    encode_histogram,
    encode_scalar,
    encode_version,
)
from sonde.tfevents.records import RecordReader, encode_record, masked_crc32c
from sonde.tfevents.wire import encode_bytes, encode_varint
from tests.fakes.smdebug import event_file, tensor

FILE = event_file(3, [tensor(name, np.array([1, 2], np.float32), 3) for name in "abc"])


BY_TENSORBOARD = (
    "1800000000000000a37f4b220900000000000029401a0d627261696e2e4576656e743a326394a44f"
    "1a00000000000000129bd82d09000000000000294010072a0d0a0b0a046c6f7373150000003f9d3c"
    "28666500000000000000ebd05a6909000000000000294010072a580a560a01772a51090000000000"
    "00f0bf11000000000000004019000000000000084021000000000000044029000000000000154032"
    "10000000000000e03f00000000000000403a10000000000000f03f00000000000000408f7ed7b3"
)


def read(data: bytes) -> tuple[list[bytes], str]:
    reader = RecordReader(data)
    return list(reader), reader.damage


def test_checksum_has_the_published_values() -> None:
    """RFC 3720, appendix B.4: the CRC-32C of 32 zeros and of 32 ones."""

    def masked(checksum: int) -> int:
        return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF

    assert masked_crc32c(bytes(32)) == masked(0x8A9136AA)
    assert masked_crc32c(b"\xff" * 32) == masked(0x62A8AB43)


def test_bytes_are_those_that_tensorboard_writes() -> None:
    """Written by `RecordWriter` and the messages of TensorBoard 2.21."""
    buckets = HistogramBuckets(-1, 2, 3, 2.5, 5.25, (0.5, 2), (1, 2))
    events = [
        encode_version(12.5),
        encode_event(12.5, 7, [encode_scalar("loss", 0.5)]),
        encode_event(12.5, 7, [encode_histogram("w", buckets)]),
    ]
    assert b"".join(map(encode_record, events)) == bytes.fromhex(BY_TENSORBOARD)


def test_scalars_and_histograms_are_read_as_written() -> None:
    buckets = HistogramBuckets(-1, 2, 3, 2.5, 5.25, (0, 1, math.inf), (1, 0, 2))
    payload = encode_event(12.5, -1, [encode_scalar("loss", 0.5), encode_histogram("w", buckets)])
    event = decode_event(payload)
    assert (event.wall_seconds, event.step) == (12.5, -1)
    assert [(each.tag, each.scalar, each.histogram) for each in event.summaries] == [
        ("loss", 0.5, None),
        ("w", None, buckets),
    ]


@pytest.mark.parametrize(
    ("code", "number", "dtype", "content"),
    [
        (1, 5, "float32", np.array([1, 2], np.float32).tobytes()),
        (2, 6, "float64", np.array([1, 2], np.float64).tobytes()),
        (9, 10, "int64", b"\x01\x02"),
        (10, 11, "bool", b"\x01\x01"),
        (19, 13, "float16", b"\x80\x78\x80\x80\x01"),
    ],
)
def test_tensors_may_list_their_elements(
    code: int, number: int, dtype: str, content: bytes
) -> None:
    shape = encode_bytes(2, encode_varint(1, 2))
    array = decode_array(
        encode_varint(1, code) + encode_bytes(2, shape) + encode_bytes(number, content)
    )
    assert array is not None
    assert array.dtype.name == dtype
    assert array.tolist() == ([True, True] if dtype == "bool" else [1, 2])


def test_one_element_fills_a_tensor() -> None:
    shape = b"".join(encode_bytes(2, encode_varint(1, size)) for size in (2, 3))
    array = decode_array(
        encode_varint(1, 3) + encode_bytes(2, shape) + encode_varint(7, (1 << 64) - 4)
    )
    assert array is not None
    assert array.tolist() == [[-4] * 3] * 2


def test_a_text_tensor_has_no_numbers() -> None:
    assert decode_array(encode_varint(1, 7) + encode_bytes(8, b"text")) is None


@given(st.integers(0, len(FILE)))
def test_a_truncated_file_is_read_up_to_its_end(size: int) -> None:
    complete, _ = read(FILE)
    records, damage = read(FILE[:size])
    assert records == complete[: len(records)]
    ends = np.cumsum([0, *(len(record) + 16 for record in complete)]).tolist()
    assert damage == ("" if size in ends else f"is truncated after {size} byte{'s' * (size != 1)}")


@given(st.integers(0, len(FILE) - 1), st.integers(1, 255))
def test_a_changed_byte_never_raises_anything_but_a_value_error(offset: int, change: int) -> None:
    data = bytearray(FILE)
    data[offset] ^= change
    for payload in RecordReader(bytes(data)):
        try:
            decode_event(payload)
        except ValueError:
            continue


@given(st.binary(max_size=60))
def test_any_bytes_are_decoded_or_refused(payload: bytes) -> None:
    [read_back] = RecordReader(encode_record(payload))
    assert read_back == payload
    for decode in (decode_event, decode_array):
        try:
            decode(payload)
        except ValueError:
            continue


def test_a_changed_payload_with_a_checksum_is_reported() -> None:
    data = bytearray(encode_record(b"some payload"))
    data[14] ^= 1
    assert read(bytes(data)) == ([], "is damaged at byte 12")
