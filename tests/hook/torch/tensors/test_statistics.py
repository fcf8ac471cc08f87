"""CPU statistics match NumPy for every element type, shape and special value."""

import math
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard

from sonde.hook.torch.tensors import statistics_operators
from sonde.hook.torch.tensors.statistics import Combined, Measured, launch, measure, raw_tensor
from sonde.hook.torch.tensors.statistics_operators import ByOperators
from sonde.store.encode import encode_columns
from sonde.store.format import STATISTICS
from sonde.store.statistics import BINS, COLUMNS, bin_of, decode_histogram, encode_histogram
from sonde.store.tensors import encode_tensors

SPECIAL = (0.0, -0.0, 1.0, -1.0, 1e-45, -1e-40, 3e38, -3e38, math.nan, math.inf, -math.inf, 6e-8)
FLOATS = (
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz),
)
INTEGERS = (
    *(torch.int64, torch.int32, torch.int16, torch.int8),
    *(torch.uint64, torch.uint32, torch.uint16, torch.uint8),
)


def expected_of(values: "np.ndarray[Any, Any]") -> dict[str, Any]:
    values = values.astype(np.float64).reshape(-1)
    finite = values[np.isfinite(values)]
    counts = [0] * BINS
    for value in finite[finite != 0].tolist():
        counts[bin_of(value)] += 1
    with np.errstate(over="ignore", under="ignore"):
        return {
            "count": values.size,
            "nans": np.isnan(values).sum(),
            "infinities": np.isinf(values).sum(),
            "zeros": (finite == 0).sum(),
            "minimum": finite.min(initial=math.inf) if finite.size else math.nan,
            "maximum": finite.max(initial=-math.inf) if finite.size else math.nan,
            "absolute_minimum": np.abs(finite).min() if finite.size else math.nan,
            "sum": finite.sum(),
            "sum_of_squares": (finite**2).sum(),
            "sum_of_absolutes": np.abs(finite).sum(),
            "histogram": encode_histogram(counts),
        }


def row_of(measured: Measured, number: int = 0) -> dict[str, Any]:
    numbers = zip(COLUMNS, measured.columns, strict=True)
    return {name: column[number] for name, column in numbers} | {
        "histogram": measured.histograms[number]
    }


def assert_same(statistics: dict[str, Any], values: "np.ndarray[Any, Any]") -> None:
    expected = expected_of(values)
    tolerance = 1e-12 * expected["sum_of_absolutes"]
    for name, value in expected.items():
        if name.startswith("sum"):
            assert statistics[name] == pytest.approx(value, rel=1e-12, abs=tolerance), name
        elif name in COLUMNS:
            np.testing.assert_equal(statistics[name] + 0.0, value + 0.0, name)  # minus zero is zero
        else:
            assert statistics[name] == value


def by_operators(tensors: Mapping[str, torch.Tensor], with_histogram: bool) -> Measured:
    """Measure with torch operators, as on a GPU without Triton."""
    return ByOperators(tensors, with_histogram).measured()


ENGINES = (measure, by_operators)


def assert_measured(tensor: torch.Tensor) -> None:
    for engine in ENGINES:
        measured = engine({"tensor": tensor}, True)

        assert measured.left_out == {}
        assert_same(row_of(measured), tensor.detach().to_dense().to(torch.float64).numpy())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(max_examples=30)
@given(values=st.lists(st.sampled_from(SPECIAL) | st.floats(width=32)))
def test_every_kind_of_float_is_measured(dtype: torch.dtype, values: list[float]) -> None:
    assert_measured(torch.tensor(values, dtype=torch.float64).to(dtype))


@given(
    st.lists(
        st.lists(st.sampled_from(SPECIAL) | st.floats(width=32), min_size=3, max_size=4),
        min_size=2,
        max_size=9,
    )
)
def test_tensors_of_one_size_are_measured_together(lists: list[list[float]]) -> None:
    tensors = {f"{index}": torch.tensor(values) for index, values in enumerate(lists)}

    measured = measure(tensors, False)

    assert measured.names == list(tensors)
    for index, tensor in enumerate(tensors.values()):
        values = tensor.numpy()
        histogram = expected_of(values)["histogram"]  # not requested, so not compared
        assert_same(row_of(measured, index) | {"histogram": histogram}, values)


@given(values=st.lists(st.floats(allow_subnormal=True)))
def test_doubles_outside_the_float32_range_are_measured(values: list[float]) -> None:
    assert_measured(torch.tensor(values, dtype=torch.float64))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@settings(max_examples=20)
@given(data=st.data())
def test_every_kind_of_integer_is_measured(dtype: torch.dtype, data: st.DataObject) -> None:
    limits = torch.iinfo(dtype)
    values = data.draw(st.lists(st.integers(max(limits.min, -(2**53)), min(limits.max, 2**53))))

    assert_measured(torch.tensor(values, dtype=dtype))


def test_booleans_are_zeros_and_ones() -> None:
    assert_measured(torch.tensor([True, False, True]))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (32_768,), (70_001,), (300, 401)])
def test_every_shape_is_measured(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(7)
    assert_measured(torch.randn(shape, generator=generator))


def matrix_with_special_values() -> torch.Tensor:
    matrix = torch.randn(700, 300, generator=torch.Generator().manual_seed(3))
    matrix[5, 7], matrix[650, 2], matrix[333, 299] = math.nan, math.inf, 0.0
    return matrix


@pytest.mark.parametrize(
    "view",
    [
        lambda matrix: matrix.T,
        lambda matrix: matrix[::2, 1::3],
        lambda matrix: matrix[:, 0],
        lambda matrix: matrix[0].expand(200, 300),
        lambda matrix: matrix.view(7, 100, 300).permute(2, 0, 1),
        lambda matrix: matrix.view(10, 70, 15, 20).to(memory_format=torch.channels_last),
        lambda matrix: matrix.requires_grad_(),
        torch.nn.Parameter,
        lambda matrix: (matrix > 0.5).float(),
        torch._neg_view,
    ],
)
def test_views_are_measured_by_their_visible_elements(view: Any) -> None:
    assert_measured(view(matrix_with_special_values()))


def test_complex_numbers_count_as_pairs() -> None:
    tensor = torch.tensor([1 + 2j, 3 - 4j]).conj()

    for engine in ENGINES:
        assert_same(row_of(engine({"z": tensor}, True)), np.array([1.0, -2.0, 3.0, 4.0]))


@pytest.mark.filterwarnings("ignore:Sparse .* tensor support:UserWarning")
@pytest.mark.parametrize("kind", ["coo", "uncoalesced", "csr", "bsc", "empty"])
def test_sparse_tensors_are_measured_with_the_zeros_they_imply(kind: str) -> None:
    dense = torch.zeros(6, 4)
    dense[1, 2], dense[4, 0] = -3.0, math.nan
    positions = torch.tensor([[1, 1], [2, 2]])
    makers: dict[str, Any] = {
        "coo": dense.to_sparse,
        "uncoalesced": lambda: torch.sparse_coo_tensor(
            positions, torch.tensor([1.0, 2.0]), (6, 4), check_invariants=True
        ),
        "csr": dense.to_sparse_csr,
        "bsc": lambda: dense.to_sparse_bsc((2, 2)),
        "empty": torch.zeros(6, 4).to_sparse,
    }
    tensor = makers[kind]()

    for engine in ENGINES:
        assert_same(row_of(engine({"gradient": tensor}, True)), tensor.to_dense().numpy())


@pytest.fixture
def process_group(tmp_path: Path) -> Iterator[None]:
    init_method = f"file://{tmp_path}/store"
    dist.init_process_group("gloo", init_method=init_method, rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("process_group")
def test_the_local_shard_of_a_distributed_tensor_is_measured() -> None:
    local = matrix_with_special_values()
    tensor = DTensor.from_local(local, init_device_mesh("cpu", (1,)), [Shard(0)])

    for engine in ENGINES:
        assert_same(row_of(engine({"shard": tensor}, True)), local.numpy())
    assert_same(row_of(launch({"shard": tensor}, True).measured()), local.numpy())
    assert raw_tensor(tensor).data == local.numpy().tobytes()


def test_tensors_without_plain_values_are_skipped_by_name() -> None:
    tensors = {
        "here": torch.ones(3),
        "nowhere": torch.ones(3, device="meta"),
        "jagged": torch.nested.nested_tensor([torch.ones(2), torch.ones(1)], layout=torch.jagged),
        "packed": torch.zeros(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
        "also here": torch.zeros(2),
    }

    for engine in ENGINES:
        measured = engine(tensors, False)

        assert measured.names == ["here", "also here"]
        assert set(measured.left_out) == {"nowhere", "jagged", "packed"}
        assert "meta" in measured.left_out["nowhere"]


def test_an_uncoalesced_sparse_gradient_is_summed_without_waiting() -> None:
    embedding = torch.nn.Embedding(50, 4, sparse=True)
    embedding(torch.tensor([3, 7, 3, 3])).sum().backward()
    gradient = embedding.weight.grad
    assert gradient is not None
    assert not gradient.is_coalesced()

    assert_measured(gradient)


def test_tensors_larger_than_a_slice_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics_operators, "_SLICE", 1000)

    assert_measured(matrix_with_special_values())


def test_a_launch_measures_the_values_at_its_time() -> None:
    tensor = torch.tensor([1.0, 2.0])

    pending = launch({"x": tensor}, with_histogram=True)
    tensor.zero_()

    assert pending.is_ready()
    assert_same(row_of(pending.measured()), np.array([1.0, 2.0]))


def test_combined_launches_are_ready_when_all_are() -> None:
    first, second = (launch({name: torch.ones(2)}, with_histogram=False) for name in "ab")

    both = Combined([first, second])

    assert both.is_ready()
    assert both.measured().names == ["a", "b"]


def test_results_do_not_depend_on_defaults_of_the_script() -> None:
    tensor = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
    torch.set_default_dtype(torch.float16)
    torch.set_default_device("meta")
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            results = [engine({"x": tensor}, True) for engine in ENGINES]
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)

    for measured in results:
        assert_same(row_of(measured), np.array([1.0, 2.0]))


def test_measuring_leaves_no_trace_in_the_graph_and_the_data() -> None:
    weight = torch.nn.Parameter(torch.randn(40, 1000))
    before, version = weight.detach().clone(), weight._version

    measure({"weight": weight}, with_histogram=True)

    assert torch.equal(weight, before)
    assert (weight.grad, weight.grad_fn, weight._version) == (None, None, version)


def test_a_thread_that_measures_starts_no_others() -> None:
    tensor = torch.randn(400_000)
    started: list[set[str]] = []

    def work() -> None:
        before = _threads()
        measure({"flat": tensor, "transposed": tensor.view(2, -1).T}, with_histogram=True)
        started.append(_threads() - before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert started == [set()]


def _threads() -> set[str]:
    return {path.name for path in Path("/proc/self/task").iterdir()}


def test_columns_are_ready_to_be_written() -> None:
    measured = measure({"a": torch.ones(2), "b": torch.zeros(1)}, with_histogram=True)

    rows = measured.rows(time_ns=5, step=7, mode="train")

    assert encode_columns(STATISTICS, rows)
    assert [list(column) for column in rows[:6]] == [
        ["a", "b"],
        [5, 5],
        [7, 7],
        ["train", "train"],
        [2, 1],
        [0, 0],
    ]
    assert decode_histogram(rows[-1][0]) == {bin_of(1.0): 2}


def test_histograms_are_empty_unless_requested() -> None:
    assert measure({"a": torch.ones(2)}, with_histogram=False).histograms == [""]


def test_two_measurements_become_one() -> None:
    measured = measure({"a": torch.ones(2)}, with_histogram=False)

    measured.extend(measure({"b": torch.zeros(1)}, with_histogram=False))

    assert measured.names == ["a", "b"]
    assert measured.columns[COLUMNS.index("zeros")].tolist() == [0, 1]


STORED = (
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.float8_e4m3fn, torch.float8_e5m2, torch.int64, torch.int32, torch.int16),
    *(torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.bool),
    torch.complex64,
)


@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_the_safetensors_library_reads_every_kind_of_tensor(dtype: torch.dtype) -> None:
    tensor = (torch.arange(6).reshape(2, 3) % 4).to(dtype)

    data = encode_tensors({"t": raw_tensor(tensor), "transposed": raw_tensor(tensor.T)}, {})

    results = safetensors.torch.load(data)
    for name, expected in (("t", tensor), ("transposed", tensor.T)):
        assert results[name].dtype is dtype
        assert results[name].shape == expected.shape
        assert results[name].tolist() == expected.tolist()


def test_large_views_and_sparse_tensors_keep_their_values() -> None:
    matrix = matrix_with_special_values()
    tensors = {"view": matrix.T[:, ::2], "sparse": matrix.nan_to_num().to_sparse()}

    data = encode_tensors({name: raw_tensor(tensor) for name, tensor in tensors.items()}, {})

    results = safetensors.torch.load(data)
    np.testing.assert_array_equal(results["view"].numpy(), tensors["view"].numpy())
    assert torch.equal(results["sparse"], tensors["sparse"].to_dense())


def test_wide_complex_numbers_are_stored_as_pairs() -> None:
    raw = raw_tensor(torch.tensor([1 + 2j], dtype=torch.complex128))

    assert (raw.dtype, raw.shape) == ("F64", (1, 2))
    assert np.frombuffer(raw.data).tolist() == [1.0, 2.0]


def test_an_element_type_unknown_to_safetensors_is_refused() -> None:
    with pytest.raises(TypeError, match="float4"):
        raw_tensor(torch.zeros(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2))
