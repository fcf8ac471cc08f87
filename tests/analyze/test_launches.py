import pytest

from sonde.analyze.launches import launch_costs
from tests.fakes.operations import FakeProfile


def test_launch_costs_of_kernels_of_a_device() -> None:
    profile = FakeProfile()
    for number, length in enumerate((2_000, 4_000, 30_000, 40_000)):
        begin = number * 100_000
        profile.call("cudaLaunchKernel", begin, begin + 5_000, number)
        profile.device("gemm", begin + 8_000, begin + 8_000 + length, number)
    profile.device("Memset", 90_000, 90_100, category="set")
    [cost] = launch_costs([profile.build()])
    assert (cost.worker, cost.device, cost.kernels, cost.launches) == (0, "cuda:0", 4, 4)
    assert [cost.kernel_mean_ns, cost.kernel_p50_ns] == [19_000, 17_000]
    assert cost.short_percent == 50
    assert [cost.call_mean_ns, cost.call_total_ns] == [5_000, 20_000]
    assert [cost.delay_p50_ns, cost.delay_p95_ns] == pytest.approx([3_000, 3_000])


def test_a_graph_is_launched_once() -> None:
    profile = FakeProfile().call("cudaGraphLaunch", 0, 5_000, 1)
    profile.device("a", 6_000, 7_000, 1).device("b", 8_000, 9_000, 1)
    [cost] = launch_costs([profile.build()])
    assert (cost.kernels, cost.launches) == (2, 1)


def test_a_profile_without_kernels_has_no_launch_costs() -> None:
    assert launch_costs([FakeProfile().host("aten::mm", 0, 10).build()]) == ()
