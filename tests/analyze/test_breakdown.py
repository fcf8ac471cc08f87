import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.breakdown import TIME_SHARES, Breakdown, breakdowns
from tests.fakes.operations import FakeProfile


def by_device(profile: FakeProfile) -> dict[str, Breakdown]:
    return {breakdown.device: breakdown for breakdown in breakdowns([profile.build()])}


def launched(profile: FakeProfile, *kernels: tuple[str, int, int, str]) -> FakeProfile:
    """Kernels, copies and collectives, the first of them as soon as it was launched."""
    profile.call("cudaLaunchKernel", 0, 5, number=0)
    for number, (name, start, end, category) in enumerate(kernels):
        profile.device(name, start, end, number, category, lane=f"stream {number}")
    return profile


def test_communication_is_overlapped_where_something_computes_and_exposed_elsewhere() -> None:
    profile = launched(
        FakeProfile(),
        ("gemm", 10, 50, "kernel"),
        ("ncclDevKernel_AllReduce_Sum", 40, 80, "kernel"),
        ("Memcpy DtoH", 70, 90, "copy"),
    ).host("aten::mm", 0, 100)
    item = by_device(profile)["cuda:0"]
    assert [getattr(item, f"{section}_ns") for section in TIME_SHARES] == [30, 10, 30, 10, 20, 0]


def test_what_a_device_did_before_its_first_recorded_operation_is_not_known() -> None:
    profile = FakeProfile().call("cudaLaunchKernel", 0, 5, number=1)
    profile.device("gemm", 1_000_000, 2_000_000, 1).call("cudaDeviceSynchronize", 10, 2_500_000)
    item = by_device(profile)["cuda:0"]
    assert [item.not_covered_ns, item.compute_ns, item.idle_ns] == [1_000_000, 1_000_000, 500_000]


def test_a_device_that_starts_at_once_was_idle_before() -> None:
    profile = FakeProfile().host("aten::mm", 0, 2_000_000)
    profile.call("cudaLaunchKernel", 1_000_000, 1_000_005, number=1)
    profile.device("gemm", 1_000_010, 2_000_000, 1)
    item = by_device(profile)["cuda:0"]
    assert [item.not_covered_ns, item.idle_ns] == [0, 1_000_010]


def test_a_device_whose_last_launches_were_not_recorded_may_have_been_busy() -> None:
    profile = FakeProfile().call("cudaLaunchKernel", 0, 5, number=1).device("gemm", 10, 50, 1)
    profile.call("cudaLaunchKernel", 40, 100, number=2)
    item = by_device(profile)["cuda:0"]
    assert [item.idle_ns, item.not_covered_ns] == [10, 50]


def test_a_job_without_a_gpu_has_the_time_of_its_host() -> None:
    profile = FakeProfile().phase("data_wait", 0, 30)
    profile.host("aten::mm", 40, 70).host("aten::addmm", 50, 60).host("Backward", 70, 80, lane="b")
    profile.host("step", 0, 100, "annotation")
    profile.host("gloo:all_reduce", 75, 95, "collective", lane="c")
    sections = by_device(profile)
    assert sections.keys() == {"cpu"}
    assert [getattr(sections["cpu"], f"{section}_ns") for section in TIME_SHARES] == [
        35,
        5,
        15,
        0,
        30,
        15,
    ]


def test_a_host_that_waits_for_the_device_is_idle_in_whatever_operator_it_does() -> None:
    profile = FakeProfile().host("aten::item", 0, 100).call("cudaStreamSynchronize", 10, 90)
    item = by_device(profile)["cpu"]
    assert [item.compute_ns, item.idle_ns] == [20, 80]


def test_windows_of_a_worker_are_added_up_and_workers_stay_apart() -> None:
    items = [FakeProfile(worker).host("f", 0, 10).build() for worker in (0, 0, 1)]
    result = [(breakdown.worker, breakdown.compute_ns) for breakdown in breakdowns(items)]
    assert result == [(0, 20), (1, 10)]


kernels = st.tuples(
    st.sampled_from(["gemm", "ncclKernel", "Memcpy"]), st.integers(6, 60), st.integers(0, 30)
).map(
    lambda item: (item[0], item[1], item[1] + item[2], "copy" if item[0] == "Memcpy" else "kernel")
)


@given(st.lists(kernels, min_size=1, max_size=10))
def test_the_parts_add_up_to_the_whole(given_kernels: list[tuple[str, int, int, str]]) -> None:
    profile = launched(FakeProfile(), *given_kernels).host("aten::mm", 0, 120)
    for item in by_device(profile).values():
        sections = [getattr(item, f"{section}_ns") for section in TIME_SHARES]
        assert sum(sections) == item.wall_ns == 120
        assert all(piece >= 0 for piece in sections)
    assert pytest.approx(100) == sum(100 * piece / item.wall_ns for piece in sections)
