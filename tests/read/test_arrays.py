"""Saved tensors of any element type are read without loss of precision."""

import ctypes
from typing import Any

import numpy as np
import pytest
import torch

from sonde.errors import StoreError
from sonde.read.arrays import to_array
from sonde.store.tensors import RawTensor

SMALL = {
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E4M3FNUZ": torch.float8_e4m3fnuz,
    "F8_E5M2": torch.float8_e5m2,
    "F8_E5M2FNUZ": torch.float8_e5m2fnuz,
    "F8_E8M0": torch.float8_e8m0fnu,
}
PLAIN = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "C64": np.complex64,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U64": np.uint64,
    "U32": np.uint32,
    "U16": np.uint16,
    "U8": np.uint8,
    "BOOL": np.bool_,
}


@pytest.mark.parametrize("dtype", SMALL)
def test_every_value_of_floats_missing_in_numpy_matches_torch(dtype: str) -> None:
    integer = torch.int16 if dtype == "BF16" else torch.uint8
    codes = torch.arange(-(1 << 15), 1 << 15) if dtype == "BF16" else torch.arange(256)
    tensor = codes.to(integer).view(SMALL[dtype])
    data = ctypes.string_at(tensor.data_ptr(), tensor.nbytes)

    values = to_array(RawTensor(dtype, tuple(tensor.shape), data))

    expected = tensor.to(torch.float32).numpy()
    assert values.dtype == np.float32
    is_nan = np.isnan(expected)
    assert (np.isnan(values) == is_nan).all()
    assert (values.view(np.uint32) == expected.view(np.uint32))[~is_nan].all()


@pytest.mark.parametrize("dtype", PLAIN)
def test_other_element_types_are_kept(dtype: str) -> None:
    kind: Any = PLAIN[dtype]
    expected = np.arange(6).astype(kind).reshape(2, 3)
    values = to_array(RawTensor(dtype, (2, 3), expected.tobytes()))
    assert values.dtype == expected.dtype
    assert values.tobytes() == expected.tobytes()
    assert values.shape == (2, 3)


def test_scalars_and_empty_tensors_keep_their_shape() -> None:
    assert to_array(RawTensor("F32", (), np.float32(2).tobytes())) == 2
    assert to_array(RawTensor("F32", (0, 3), b"")).shape == (0, 3)


def test_an_unknown_element_type_is_an_error() -> None:
    with pytest.raises(StoreError, match="Cannot read tensors of type F4"):
        to_array(RawTensor("F4", (1,), b"x"))
