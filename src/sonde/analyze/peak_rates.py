"""Peak rates of GPUs in matrix products, from the manufacturer's datasheets.

Rates are those of tensor cores where the precision has some, for dense matrices (datasheets often
print the doubled rate for sparse ones), with accumulation in float32, at the boost clock.
"""

import re

from sonde.analyze.kernels import Precision

_TERA = 1e12
_PRECISIONS = (Precision.HALF, Precision.TF32, Precision.FLOAT32, Precision.FLOAT64)

# TFLOP/s in half precision, TF32, float32 and float64; 0: not supported. First match wins.
_PEAKS: tuple[tuple[str, tuple[float, float, float, float]], ...] = (
    (r"B200", (2250, 1125, 75, 37)),
    (r"H200 NVL", (836, 418, 60, 60)),
    (r"H200|GH200", (989, 494, 67, 67)),
    (r"H100 NVL", (836, 418, 60, 60)),
    (r"H100 PCIe", (756, 378, 51, 51)),
    (r"H100", (989, 494, 67, 67)),
    (r"A100", (312, 156, 19.5, 19.5)),
    (r"A40\b", (149.7, 74.8, 37.4, 0.58)),
    (r"A30\b", (165, 82, 10.3, 10.3)),
    (r"A10\b", (125, 62.5, 31.2, 0.49)),
    (r"L40S", (362, 183, 91.6, 1.4)),
    (r"L40\b", (181, 90.5, 90.5, 1.4)),
    (r"L4\b", (121, 60, 30.3, 0.47)),
    (r"V100S", (130, 0, 16.4, 8.2)),
    (r"V100-SXM|V100 SXM", (125, 0, 15.7, 7.8)),
    (r"V100", (112, 0, 14, 7)),
    (r"\bT4\b", (65, 0, 8.1, 0.25)),
    (r"RTX 4090", (165.2, 82.6, 82.6, 1.3)),
    (r"RTX 3090(?! Ti)", (71, 35.6, 35.6, 0.56)),
)


def peak_rate(device_name: str, precision: Precision) -> float | None:
    """FLOP/s of a GPU in a precision; None if the GPU is not in the table."""
    for pattern, rates in _PEAKS:
        if re.search(pattern, device_name):
            return dict(zip(_PRECISIONS, rates, strict=True))[precision] * _TERA or None
    return None
