from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.operators import OperatorRow, OperatorTable, device_operators, host_operators
from tests.fakes.operations import FakeProfile


def rows_of(table: OperatorTable) -> dict[str, OperatorRow]:
    return {row.name: row for row in table.rows}


def matmul() -> FakeProfile:
    """A linear layer whose kernel runs after the layer has returned."""
    return (
        FakeProfile()
        .host("aten::linear", 0, 50, module="fc")
        .host("aten::mm", 10, 40, module="fc")
        .call("cudaLaunchKernel", 20, 30, number=7)
        .device("gemm", 60, 100, number=7)
    )


def test_self_time_excludes_callees_and_total_time_includes_them() -> None:
    rows = rows_of(host_operators([matmul().build()]))
    assert [rows["aten::linear"].self_ns, rows["aten::linear"].total_ns] == [20, 50]
    assert [rows["aten::mm"].self_ns, rows["aten::mm"].total_ns] == [20, 30]
    assert rows["cudaLaunchKernel"].self_ns == 10


def test_recursive_operators_are_not_counted_twice() -> None:
    profile = FakeProfile().host("f", 0, 100).host("g", 10, 90).host("f", 20, 80)
    rows = rows_of(host_operators([profile.build()]))
    assert rows["f"].calls == 2
    assert [rows["f"].self_ns, rows["f"].total_ns] == [80, 100]
    assert [rows["g"].self_ns, rows["g"].total_ns] == [20, 80]


def test_kernels_count_for_the_operator_that_launched_them() -> None:
    rows = rows_of(host_operators([matmul().build()]))
    assert [rows["aten::mm"].device_self_ns, rows["aten::mm"].device_total_ns] == [40, 40]
    assert [rows["aten::linear"].device_self_ns, rows["aten::linear"].device_total_ns] == [0, 40]
    rows = rows_of(device_operators([matmul().build()]))
    assert [rows["aten::mm"].self_ns, rows["aten::mm"].total_ns] == [40, 40]
    assert [rows["aten::linear"].self_ns, rows["aten::linear"].total_ns] == [0, 40]


def test_a_kernel_without_a_known_launch_has_its_own_row() -> None:
    profile = matmul().device("lonely", 100, 110)
    assert rows_of(device_operators([profile.build()]))["lonely"].self_ns == 10


def test_shares_and_time_not_covered_add_up_to_the_wall_time() -> None:
    host, device = (table([matmul().build()]) for table in (host_operators, device_operators))
    assert host.wall_ns == device.wall_ns == 100
    assert sum(row.share_ns for row in host.rows) == pytest.approx(50)
    assert [host.not_covered_ns, device.not_covered_ns] == pytest.approx([50, 60])


def test_concurrent_threads_share_the_time() -> None:
    profile = FakeProfile().host("f", 0, 100).host("g", 50, 100, lane="thread 2")
    table = host_operators([profile.build()])
    rows = rows_of(table)
    assert [rows["f"].self_ns, rows["g"].self_ns] == [100, 50]
    assert [rows["f"].share_ns, rows["g"].share_ns] == pytest.approx([75, 25])
    assert table.not_covered_ns == pytest.approx(0)


def test_device_work_belongs_to_the_phase_in_which_it_was_launched() -> None:
    profile = matmul().phase("forward", 0, 55).phase("backward", 55, 100).build()
    assert rows_of(device_operators([profile], "phase")).keys() == {"forward"}
    assert rows_of(host_operators([profile], "phase"))["forward"].total_ns == 50


def test_of_nested_phases_the_inner_one_counts() -> None:
    profile = FakeProfile().host("f", 0, 10).host("g", 20, 30).host("h", 40, 50)
    profile.phase("backward", 0, 60).phase("collective", 15, 35)
    rows = rows_of(host_operators([profile.build()], "phase"))
    assert {name: row.calls for name, row in rows.items()} == {"backward": 2, "collective": 1}


def test_the_total_of_a_module_includes_nested_modules() -> None:
    profile = FakeProfile()
    profile.host("f", 0, 10, module="h").host("f", 10, 30, module="h.0").host(
        "f", 30, 70, module="x"
    )
    rows = rows_of(host_operators([profile.build()], "module"))
    assert {name: (row.self_ns, row.total_ns) for name, row in rows.items()} == {
        "h": (10, 30),
        "h.0": (20, 20),
        "x": (40, 40),
    }


def test_windows_add_up() -> None:
    table = device_operators([matmul().build(), matmul().build()], "kernel")
    assert table.wall_ns == 200
    assert [(row.name, row.calls, row.self_ns) for row in table.rows] == [("gemm", 2, 80)]


calls: st.SearchStrategy[list[Any]] = st.recursive(
    st.just([]), lambda inner: st.lists(inner, max_size=3), max_leaves=12
)


@given(st.lists(st.tuples(calls, st.integers(0, 30)), min_size=1, max_size=3))
def test_nested_operators_are_never_counted_twice(threads: list[tuple[list[Any], int]]) -> None:
    profile = FakeProfile()
    for number, (tree, begin) in enumerate(threads):
        _record(profile, tree, begin, f"thread {number}")
    table = host_operators([profile.build()])
    shares = sum(row.share_ns for row in table.rows)
    assert shares + table.not_covered_ns == pytest.approx(table.wall_ns)
    assert shares <= table.wall_ns + 1e-6
    assert all(row.self_ns <= row.total_ns + 1e-6 for row in table.rows)


def _record(profile: FakeProfile, tree: list[Any], begin: int, lane: str) -> int:
    """Add a call with nested calls, and return its end."""
    end = begin + 1
    for inner in tree:
        end = _record(profile, inner, end, lane) + 1
    profile.host(f"depth of {len(tree)}", begin, end + 1, lane=lane)
    return end + 1
