import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.breakdown import PARTS, Breakdown, breakdowns
from tests.fakes.operations import FakeProfile


def by_device(profile: FakeProfile) -> dict[str, Breakdown]:
    return {one.device: one for one in breakdowns([profile.build()])}


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
    one = by_device(profile)["cuda:0"]
    assert [getattr(one, f"{part}_ns") for part in PARTS] == [30, 10, 30, 10, 20, 0]


def test_what_a_device_did_before_its_first_recorded_operation_is_not_known() -> None:
    profile = FakeProfile().call("cudaLaunchKernel", 0, 5, number=1)
    profile.device("gemm", 1_000_000, 2_000_000, 1).call("cudaDeviceSynchronize", 10, 2_500_000)
    one = by_device(profile)["cuda:0"]
    assert [one.not_covered_ns, one.compute_ns, one.idle_ns] == [1_000_000, 1_000_000, 500_000]


def test_a_device_that_starts_at_once_was_idle_before() -> None:
    profile = FakeProfile().host("aten::mm", 0, 2_000_000)
    profile.call("cudaLaunchKernel", 1_000_000, 1_000_005, number=1)
    profile.device("gemm", 1_000_010, 2_000_000, 1)
    one = by_device(profile)["cuda:0"]
    assert [one.not_covered_ns, one.idle_ns] == [0, 1_000_010]


def test_a_device_whose_last_launches_were_not_recorded_may_have_been_busy() -> None:
    profile = FakeProfile().call("cudaLaunchKernel", 0, 5, number=1).device("gemm", 10, 50, 1)
    profile.call("cudaLaunchKernel", 40, 100, number=2)
    one = by_device(profile)["cuda:0"]
    assert [one.idle_ns, one.not_covered_ns] == [10, 50]


def test_a_job_without_a_gpu_has_the_time_of_its_host() -> None:
    profile = FakeProfile().phase("data_wait", 0, 30)
    profile.host("aten::mm", 40, 70).host("aten::addmm", 50, 60).host("Backward", 70, 80, lane="b")
    profile.host("step", 0, 100, "annotation")
    profile.host("gloo:all_reduce", 75, 95, "collective", lane="c")
    parts = by_device(profile)
    assert parts.keys() == {"cpu"}
    assert [getattr(parts["cpu"], f"{part}_ns") for part in PARTS] == [35, 5, 15, 0, 30, 15]


def test_a_host_that_waits_for_the_device_is_idle_in_whatever_operator_it_does() -> None:
    profile = FakeProfile().host("aten::item", 0, 100).call("cudaStreamSynchronize", 10, 90)
    one = by_device(profile)["cpu"]
    assert [one.compute_ns, one.idle_ns] == [20, 80]


def test_windows_of_a_worker_are_added_up_and_workers_stay_apart() -> None:
    ones = [FakeProfile(worker).host("f", 0, 10).build() for worker in (0, 0, 1)]
    found = [(one.worker, one.compute_ns) for one in breakdowns(ones)]
    assert found == [(0, 20), (1, 10)]


kernels = st.tuples(
    st.sampled_from(["gemm", "ncclKernel", "Memcpy"]), st.integers(6, 60), st.integers(0, 30)
).map(lambda one: (one[0], one[1], one[1] + one[2], "copy" if one[0] == "Memcpy" else "kernel"))


@given(st.lists(kernels, min_size=1, max_size=10))
def test_the_parts_add_up_to_the_whole(given_kernels: list[tuple[str, int, int, str]]) -> None:
    profile = launched(FakeProfile(), *given_kernels).host("aten::mm", 0, 120)
    for one in by_device(profile).values():
        parts = [getattr(one, f"{part}_ns") for part in PARTS]
        assert sum(parts) == one.wall_ns == 120
        assert all(part >= 0 for part in parts)
    assert pytest.approx(100) == sum(100 * part / one.wall_ns for part in parts)
