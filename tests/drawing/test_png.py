"""PNG images with 256 colors."""

import struct
import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sonde.drawing.png import MISSING, ZERO, encode_png, palette, palette_indices

pictures = arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9)))


def chunks(picture: bytes) -> dict[bytes, bytes]:
    result, at = {}, 8
    while at < len(picture):
        [length] = struct.unpack(">I", picture[at : at + 4])
        kind, content = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        [checked] = struct.unpack(">I", picture[at + 8 + length : at + 12 + length])
        assert checked == zlib.crc32(kind + content)
        result[kind] = content
        at += 12 + length
    return result


@given(pictures)
def test_png_contains_its_pixels(
    indices: "np.ndarray[tuple[int, int], np.dtype[np.uint8]]",
) -> None:
    picture = encode_png(indices)
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    result = chunks(picture)
    width, height = struct.unpack(">II", result[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(result[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert (rows[:, 0] == 0).all()
    assert (rows[:, 1:] == indices).all()
    assert len(result[b"PLTE"]) == 3 * 256
    assert result[b"tRNS"][MISSING] == 0


def test_values_become_colors_from_low_to_high() -> None:
    values = np.array([[0.0, 50.0, 100.0, 200.0, -5.0, np.nan]])
    assert palette_indices(values, 0.0, 100.0).tolist() == [[0, 126, 253, 253, 0, MISSING]]


def test_logarithmic_scale_gives_decades_equal_width() -> None:
    values = np.array([[1e-3, 1e-2, 1e-1, 0.0, np.inf]])
    result = palette_indices(values, 1e-3, 1e-1, is_logarithmic=True)
    assert result.tolist() == [[0, 126, 253, 0, MISSING]]


def test_colors_get_darker() -> None:
    brightness = palette()[:ZERO].sum(axis=1).astype(int)
    assert (np.diff(brightness) <= 0).all()
