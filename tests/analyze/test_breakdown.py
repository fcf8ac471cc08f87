from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.breakdown import TIME_SHARES, Breakdown, breakdowns
from tests.fakes.operations import FakeProfile


def by_device(profile: FakeProfile) -> dict[str, Breakdown]:
    return {breakdown.device: breakdown for breakdown in breakdowns([profile.build()])}


def launched(profile: FakeProfile, *kernels: tuple[str, int, int, str]) -> FakeProfile:
    """Add kernels, copies and collectives; the first one begins right after its launch."""
    profile.call("cudaLaunchKernel", 0, 5, number=0)
    for number, (name, start, end, category) in enumerate(kernels):
        profile.device(name, start, end, number, category, lane=f"stream {number}")
    return profile


def test_communication_is_overlapped_by_kernels_and_exposed_otherwise() -> None:
    profile = launched(
        FakeProfile(),
        ("gemm", 10, 50, "kernel"),
        ("ncclDevKernel_AllReduce_Sum", 40, 80, "kernel"),
        ("Memcpy DtoH", 70, 90, "copy"),
    ).host("aten::mm", 0, 100)
    breakdown = by_device(profile)["cuda:0"]
    assert [getattr(breakdown, f"{share}_ns") for share in TIME_SHARES] == [30, 10, 30, 10, 20, 0]


def test_time_before_the_first_recorded_operation_is_not_covered() -> None:
    profile = FakeProfile().call("cudaLaunchKernel", 0, 5, number=1)
    profile.device("gemm", 1_000_000, 2_000_000, 1).call("cudaDeviceSynchronize", 10, 2_500_000)
    breakdown = by_device(profile)["cuda:0"]
    assert [breakdown.not_covered_ns, breakdown.compute_ns, breakdown.idle_ns] == [
        1_000_000,
        1_000_000,
        500_000,
    ]


def test_a_device_that_starts_right_after_the_launch_was_idle_before() -> None:
    profile = FakeProfile().host("aten::mm", 0, 2_000_000)
    profile.call("cudaLaunchKernel", 1_000_000, 1_000_005, number=1)
    profile.device("gemm", 1_000_010, 2_000_000, 1)
    breakdown = by_device(profile)["cuda:0"]
    assert [breakdown.not_covered_ns, breakdown.idle_ns] == [0, 1_000_010]


def test_time_after_launches_without_recorded_kernels_is_not_covered() -> None:
    profile = FakeProfile().call("cudaLaunchKernel", 0, 5, number=1).device("gemm", 10, 50, 1)
    profile.call("cudaLaunchKernel", 40, 100, number=2)
    breakdown = by_device(profile)["cuda:0"]
    assert [breakdown.idle_ns, breakdown.not_covered_ns] == [10, 50]


def test_a_job_without_a_gpu_has_a_breakdown_of_its_host() -> None:
    profile = FakeProfile().phase("data_wait", 0, 30)
    profile.host("aten::mm", 40, 70).host("aten::addmm", 50, 60).host("Backward", 70, 80, lane="b")
    profile.host("step", 0, 100, "annotation")
    profile.host("gloo:all_reduce", 75, 95, "collective", lane="c")
    result = by_device(profile)
    assert result.keys() == {"cpu"}
    assert [getattr(result["cpu"], f"{share}_ns") for share in TIME_SHARES] == [
        35,
        5,
        15,
        0,
        30,
        15,
    ]


def test_a_host_that_waits_for_the_device_is_idle_even_inside_an_operator() -> None:
    profile = FakeProfile().host("aten::breakdown", 0, 100).call("cudaStreamSynchronize", 10, 90)
    breakdown = by_device(profile)["cpu"]
    assert [breakdown.compute_ns, breakdown.idle_ns] == [20, 80]


def test_windows_of_a_worker_are_added_up_and_workers_are_separate() -> None:
    profiles = [FakeProfile(worker).host("f", 0, 10).build() for worker in (0, 0, 1)]
    result = [(breakdown.worker, breakdown.compute_ns) for breakdown in breakdowns(profiles)]
    assert result == [(0, 20), (1, 10)]


kernels = st.tuples(
    st.sampled_from(["gemm", "ncclKernel", "Memcpy"]), st.integers(6, 60), st.integers(0, 30)
).map(lambda row: (row[0], row[1], row[1] + row[2], "copy" if row[0] == "Memcpy" else "kernel"))


@given(st.lists(kernels, min_size=1, max_size=10))
def test_the_parts_add_up_to_the_wall_time(device_rows: list[tuple[str, int, int, str]]) -> None:
    profile = launched(FakeProfile(), *device_rows).host("aten::mm", 0, 120)
    for breakdown in by_device(profile).values():
        times = [getattr(breakdown, f"{share}_ns") for share in TIME_SHARES]
        assert sum(times) == breakdown.wall_ns == 120
        assert all(time >= 0 for time in times)
