"""PNG images with a palette of 256 colors, encoded with zlib only."""

import struct
import zlib
from base64 import b64encode

import numpy as np
import numpy.typing as npt

PaletteIndices = npt.NDArray[np.uint8]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PALETTE = 3  # color type: pixels are palette indices
MISSING = 255  # transparent
ZERO = 254  # marked, as in the dashboard
_ZERO_COLOR = (237, 161, 0)

# from light to dark, as in the dashboard
_STOPS = ((238, 243, 250), (183, 209, 242), (96, 152, 224), (35, 96, 178), (12, 45, 96))


def palette() -> npt.NDArray[np.uint8]:
    """254 colors from low to high, one for marked zeros, and a transparent one."""
    at = np.linspace(0, len(_STOPS) - 1, ZERO)
    stops = np.array(_STOPS, dtype=np.float64)
    channels = [np.interp(at, np.arange(len(_STOPS)), stops[:, index]) for index in range(3)]
    colors = np.stack(channels, axis=1).round().astype(np.uint8)
    return np.concatenate([colors, np.array([_ZERO_COLOR, (255, 255, 255)], dtype=np.uint8)])


def palette_indices(
    values: npt.NDArray[np.float64], low: float, high: float, *, is_logarithmic: bool = False
) -> PaletteIndices:
    """The palette index of each value between low and high; MISSING for NaN."""
    with np.errstate(all="ignore"):
        if is_logarithmic:
            share = np.log(np.maximum(values, low) / low) / np.log(high / low)
        else:
            share = (values - low) / (high - low)
        scaled = np.clip(share, 0, 1) * (ZERO - 1)
    indices = np.where(np.isfinite(values), np.nan_to_num(scaled), MISSING)
    return indices.round().astype(np.uint8)


def encode_png(indices: PaletteIndices) -> bytes:
    """Encode an image given as palette indices (row, column)."""
    height, width = indices.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _PALETTE, 0, 0, 0)
    rows = np.concatenate([np.zeros((height, 1), dtype=np.uint8), indices], axis=1)
    alpha = bytes([255] * MISSING + [0])
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", header),
            _chunk(b"PLTE", palette().tobytes()),
            _chunk(b"tRNS", alpha),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )


def data_uri(picture: bytes) -> str:
    """The image as a data URI."""
    return f"data:image/png;base64,{b64encode(picture).decode()}"


def _chunk(kind: bytes, content: bytes) -> bytes:
    checked = zlib.crc32(content, zlib.crc32(kind))
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checked)
