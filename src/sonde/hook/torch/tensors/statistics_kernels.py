# mypy: ignore-errors
"""Statistics of many tensors in one pass over GPU memory, as Triton kernels.

(mypy does not understand Triton.) A program processes one chunk of one tensor. Most chunks are full
and hold only ordinary numbers, which take six instructions per element. The others are processed
again by slower code, which reads them from the cache.

A table describes T tensors: their addresses (T), their numbers of elements (T), their first chunks
and the end of the last one (T + 1), and the tensor of each chunk. A chunk's row holds
the nine columns from `nans` to `sum_of_absolutes`.
"""

import triton
import triton.language as tl

CHUNK = 16_384
COLUMNS = 9
BINS = 256
UNALIGNED_BLOCK = 128  # one element per thread and load

_CHUNK = tl.constexpr(CHUNK)
_COLUMNS = tl.constexpr(COLUMNS)
_BINS = tl.constexpr(BINS)
_UNALIGNED_BLOCK = tl.constexpr(UNALIGNED_BLOCK)
_LEVELS = tl.constexpr(BINS // 2)
_ROWS = tl.constexpr(1024)  # of chunks, merged at once

# Bits of a float32: the shift leaves the exponent and the first bit of the mantissa.
_SHIFT = tl.constexpr(22)
_LOWEST_CODE = tl.constexpr(2 * (127 - 40))
_MAGNITUDE = tl.constexpr(0x7FFFFFFF)
_INFINITE = tl.constexpr(0x7F800000)

# Counting in 64 bins costs half as much as in 256: the level of a block's largest value and the 31
# levels below hold nearly all values, and the few smaller ones are added one by one.
_SPAN = tl.constexpr(4096)
_WINDOW = tl.constexpr(32)


@triton.jit(do_not_specialize=["tensors"])
def measure_chunks(
    table, partials, histograms, tensors, element: tl.constexpr, block: tl.constexpr
):
    """Compute one row per chunk, and add its values to the histogram of its tensor."""
    chunk = tl.program_id(0)
    tensor = tl.load(table + 3 * tensors + 1 + chunk)
    start = (chunk - tl.load(table + 2 * tensors + tensor)) * _CHUNK
    count = tl.minimum(tl.load(table + tensors + tensor) - start, _CHUNK).to(tl.int32)
    base = tl.load(table + tensor).to(tl.pointer_type(element))
    if block > _UNALIGNED_BLOCK:
        base = tl.multiple_of(base, 16)
    base += start
    row = partials + chunk * _COLUMNS
    is_full = count == _CHUNK
    is_done = is_full
    if is_full:
        is_done = _measure_quickly(row, base, block)
    if not is_done:
        if is_full:
            _measure_carefully(row, base, _CHUNK, block, True)
        else:
            _measure_carefully(row, base, count, block, False)
    if histograms is not None:
        counts = histograms + tensor * _BINS
        if is_full:
            _count(counts, base, _CHUNK, True)
        else:
            _count(counts, base, count, False)


@triton.jit
def _measure_quickly(row, base, block: tl.constexpr):
    """Compute a row; return whether it is exact: no value is zero, non-finite, huge or tiny."""
    lanes = tl.arange(0, block)
    low = tl.full([block], float("inf"), tl.float32)
    high = tl.full([block], -float("inf"), tl.float32)
    nearest = tl.full([block], float("inf"), tl.float32)
    total = tl.zeros([block], tl.float32)
    squares = tl.zeros([block], tl.float32)
    absolutes = tl.zeros([block], tl.float32)
    for start in range(0, _CHUNK, block):
        value = tl.load(base + start + lanes).to(tl.float32)
        low = tl.minimum(low, value)
        high = tl.maximum(high, value)
        nearest = tl.minimum(nearest, tl.abs(value))
        total += value
        squares += value * value
        absolutes += tl.abs(value)
    _store_extremes(row, low, high, nearest)
    _store_sums(row, total, squares, absolutes)
    for column in tl.static_range(0, 3):
        tl.store(row + column, 0.0)
    largest = tl.maximum(-tl.min(low, 0), tl.max(high, 0))
    is_ordinary = (largest < 1e16) & (largest > 1e-15) & (tl.min(nearest, 0) > 0.0)
    return is_ordinary & (tl.sum(absolutes, 0) < 1e30)  # NaN or infinite if one value is


@triton.jit
def _measure_carefully(row, base, count, block: tl.constexpr, is_full: tl.constexpr):
    """Compute a row for any values, with sums in double precision."""
    finite = tl.zeros([block], tl.int32)
    infinities = tl.zeros([block], tl.int32)
    zeros = tl.zeros([block], tl.int32)
    low = tl.full([block], float("inf"), tl.float32)
    high = tl.full([block], -float("inf"), tl.float32)
    nearest = tl.full([block], float("inf"), tl.float32)
    total = tl.zeros([block], tl.float64)
    squares = tl.zeros([block], tl.float64)
    absolutes = tl.zeros([block], tl.float64)
    for start in range(0, count, block):
        value = _load(base + start, count - start, block, is_full)
        size = tl.abs(value)
        is_finite = size < float("inf")
        finite += is_finite.to(tl.int32)
        infinities += (size == float("inf")).to(tl.int32)
        zeros += (is_finite & (value == 0.0)).to(tl.int32)
        low = tl.minimum(low, tl.where(is_finite, value, float("inf")))
        high = tl.maximum(high, tl.where(is_finite, value, -float("inf")))
        nearest = tl.minimum(nearest, tl.where(is_finite, size, float("inf")))
        wide = tl.where(is_finite, value, 0.0).to(tl.float64)
        total += wide
        squares += wide * wide
        absolutes += tl.abs(wide)
    infinite = tl.sum(infinities, 0)
    tl.store(row + 0, (count - tl.sum(finite, 0) - infinite).to(tl.float64))
    tl.store(row + 1, infinite.to(tl.float64))
    tl.store(row + 2, tl.sum(zeros, 0).to(tl.float64))
    _store_extremes(row, low, high, nearest)
    _store_sums(row, total, squares, absolutes)


@triton.jit
def _load(base, count, block: tl.constexpr, is_full: tl.constexpr):
    """Load the next values; NaN beyond the end."""
    lanes = tl.arange(0, block)
    if is_full:
        value = tl.load(base + lanes)
    else:
        value = tl.load(base + lanes, mask=lanes < count, other=float("nan"))
    return value.to(tl.float32)


@triton.jit
def _store_extremes(row, low, high, nearest):
    tl.store(row + 3, tl.min(low, 0).to(tl.float64))
    tl.store(row + 4, tl.max(high, 0).to(tl.float64))
    tl.store(row + 5, tl.min(nearest, 0).to(tl.float64))


@triton.jit
def _store_sums(row, total, squares, absolutes):
    tl.store(row + 6, tl.sum(total, 0).to(tl.float64))
    tl.store(row + 7, tl.sum(squares, 0).to(tl.float64))
    tl.store(row + 8, tl.sum(absolutes, 0).to(tl.float64))


@triton.jit
def _count(counts, base, count, is_full: tl.constexpr):
    """Add a chunk to a histogram; its memory is still in the cache."""
    bins = tl.arange(0, 2 * _WINDOW)
    for start in range(0, count, _SPAN):
        value = _load(base + start, count - start, _SPAN, is_full)
        magnitude = value.to(tl.int32, bitcast=True) & _MAGNITUDE
        is_counted = (magnitude != 0) & (magnitude < _INFINITE)
        level = tl.minimum(tl.maximum((magnitude >> _SHIFT) - _LOWEST_CODE, 0), _LEVELS - 1)
        level = tl.where(is_counted, level, 0)
        below = tl.max(level, 0) - (_WINDOW - 1)  # the level under the window
        slot = tl.where(is_counted, tl.maximum(level - below, 0), 0)
        is_negative = value < 0.0
        histogram = tl.histogram(slot + tl.where(is_negative, _WINDOW, 0), 2 * _WINDOW)
        slot_of_bin = bins & (_WINDOW - 1)
        target = _bin(below + slot_of_bin, bins >= _WINDOW)
        tl.atomic_add(
            counts + target, histogram, mask=(slot_of_bin > 0) & (histogram > 0), sem="relaxed"
        )
        is_below = is_counted & (slot == 0)
        if tl.max(is_below.to(tl.int32), 0) > 0:
            increment = is_below.to(tl.int32)
            tl.atomic_add(
                counts + _bin(level, is_negative), increment, mask=is_below, sem="relaxed"
            )


@triton.jit
def _bin(level, is_negative):
    return tl.where(is_negative, _LEVELS - 1 - level, _LEVELS + level)


@triton.jit(do_not_specialize=["tensors"])
def merge_chunks(table, partials, results, tensors):
    """Merge the rows of each tensor; results are stored by column."""
    tensor = tl.program_id(0)
    first = tl.load(table + 2 * tensors + tensor)
    end = tl.load(table + 2 * tensors + tensor + 1)
    lanes = tl.arange(0, _ROWS)
    low = tl.full([_ROWS], float("inf"), tl.float64)
    high = tl.full([_ROWS], -float("inf"), tl.float64)
    nearest = tl.full([_ROWS], float("inf"), tl.float64)
    for start in range(first, end, _ROWS):
        rows = partials + (start + lanes) * _COLUMNS
        inside = start + lanes < end
        low = tl.minimum(low, tl.load(rows + 3, mask=inside, other=float("inf")))
        high = tl.maximum(high, tl.load(rows + 4, mask=inside, other=-float("inf")))
        nearest = tl.minimum(nearest, tl.load(rows + 5, mask=inside, other=float("inf")))
    minimum = tl.min(low, 0)
    maximum = tl.max(high, 0)
    has_finite = minimum <= maximum
    nan = float("nan")
    tl.store(results + 3 * tensors + tensor, tl.where(has_finite, minimum, nan))
    tl.store(results + 4 * tensors + tensor, tl.where(has_finite, maximum, nan))
    tl.store(results + 5 * tensors + tensor, tl.where(has_finite, tl.min(nearest, 0), nan))
    for column in tl.static_range(0, 3):
        tl.store(results + column * tensors + tensor, _total(partials + column, first, end))
    for column in tl.static_range(6, _COLUMNS):
        tl.store(results + column * tensors + tensor, _total(partials + column, first, end))


@triton.jit
def _total(column, first, end):
    lanes = tl.arange(0, _ROWS)
    total = tl.zeros([_ROWS], tl.float64)
    for start in range(first, end, _ROWS):
        rows = start + lanes
        total += tl.load(column + rows * _COLUMNS, mask=rows < end, other=0.0)
    return tl.sum(total, 0)
