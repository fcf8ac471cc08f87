"""Full tensors: any safetensors reader opens the files, and damage is detected."""

import json

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.errors import DamagedError, FormatTooNewError
from sonde.store import tensors as module
from sonde.store.tensors import RawTensor, decode_tensors, encode_tensors
from tests.fakes.damage import all_flips

WEIGHT = np.arange(6, dtype=np.float32).reshape(2, 3)
TENSORS = {
    "größe/fc.weight": RawTensor("F32", (2, 3), WEIGHT.tobytes()),
    "flags": RawTensor("U8", (3,), b"\x00\x01\xff"),
    "step": RawTensor("I64", (), np.int64(7).tobytes()),
}
NAMES = st.text(min_size=1, max_size=10).filter(lambda name: name != "__metadata__")


@given(st.dictionaries(NAMES, st.binary(max_size=40), max_size=4), st.text(max_size=10))
@settings(max_examples=60)
def test_encoded_tensors_are_decoded_exactly(contents: dict[str, bytes], fact: str) -> None:
    tensors = {name: RawTensor("U8", (len(data),), data) for name, data in contents.items()}

    assert decode_tensors(encode_tensors(tensors, {"mode": fact}), "a") == (tensors, {"mode": fact})


def test_the_safetensors_package_reads_the_same_tensors() -> None:
    loaded = safetensors.numpy.load(encode_tensors(TENSORS, {"step": "7"}))

    assert set(loaded) == set(TENSORS)
    np.testing.assert_array_equal(loaded["größe/fc.weight"], WEIGHT)
    assert loaded["step"].tolist() == 7
    assert loaded["flags"].tolist() == [0, 1, 255]


def test_types_unknown_to_numpy_are_preserved() -> None:
    bfloat16 = RawTensor("BF16", (3,), b"\x80\x3f\x00\x40\xc0\x7f")

    tensors, _ = decode_tensors(encode_tensors({"w": bfloat16}, {}), "a")

    assert tensors == {"w": bfloat16}


def test_every_flipped_bit_is_detected() -> None:
    for bit, damaged in all_flips(encode_tensors(TENSORS, {"mode": "ä"})):
        with pytest.raises(DamagedError, match="is damaged"):
            decode_tensors(damaged, "a.safetensors")
        assert bit >= 0


def test_every_truncation_is_detected() -> None:
    complete = encode_tensors(TENSORS, {})

    for length in range(len(complete)):
        with pytest.raises(DamagedError, match="is damaged"):
            decode_tensors(complete[:length], "a.safetensors")


def test_a_file_of_another_program_is_not_accepted() -> None:
    foreign = safetensors.numpy.save({"w": WEIGHT})

    with pytest.raises(DamagedError, match=r"a\.safetensors"):
        decode_tensors(foreign, "a.safetensors")


def test_a_newer_format_is_refused_with_advice_to_upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FORMAT_VERSION", 2)
    newer = encode_tensors(TENSORS, {})

    with pytest.raises(FormatTooNewError, match=r"a\.safetensors .* pip install -U sonde"):
        decode_tensors(newer, "a.safetensors")


def test_tensor_data_is_aligned() -> None:
    data = encode_tensors(TENSORS, {})

    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    assert json.loads(data[8 : 8 + length])["flags"]["dtype"] == "U8"
