"""Gaps of devices by cause; each fault has a test without the fault."""

from collections import Counter

import pytest

from sonde.analyze.gaps import Cause, IdleTime, find_gaps, merge_synchronizations
from tests.fakes.operations import FakeProfile

US = 1000


def step(
    profile: FakeProfile, begin: int, *, with_item: bool = False, late: int = 0
) -> FakeProfile:
    """Add a step with ten kernels and optionally `loss.item()` at the end.

    A launch takes 5 µs and a kernel 20 µs, so launches are ahead of the device unless `late` delays
    each of them.
    """
    free = begin + 10 * US
    for number in range(10):
        start = begin + number * (5 * US + late)
        free = max(free, start + 6 * US)
        profile.host("aten::mm", start, start + 5 * US, module=f"layer{number}")
        profile.call("cudaLaunchKernel", start + US, start + 4 * US, number=begin + number)
        profile.device("gemm", free, free + 20 * US, begin + number)
        free += 20 * US
    if with_item:
        start = begin + 60 * US
        profile.host("train.py(42): train", start - US, free + 5 * US, "python")
        profile.host("<built-in method item of Tensor>", start, free + 4 * US, "python")
        profile.host("aten::item", start, free + 4 * US, module="model")
        profile.host("aten::_local_scalar_dense", start + US, free + 3 * US)
        profile.call("cudaMemcpyAsync", start + 2 * US, start + 4 * US, number=begin + 99)
        profile.device("Memcpy DtoH", free, free + US, begin + 99, "copy")
        profile.call("cudaStreamSynchronize", start + 5 * US, free + 2 * US)
    return profile


def spent(idle_time: IdleTime) -> Counter[str]:
    sums: Counter[str] = Counter()
    for gap in idle_time.gaps:
        sums[gap.cause.value] += gap.duration_ns
    return sums


def test_a_synchronization_in_each_step_is_found_with_its_place() -> None:
    profile = FakeProfile()
    for number in range(3):
        step(profile, number * 230 * US, with_item=True)
        profile.phase("backward", number * 230 * US, (number + 1) * 230 * US)
    result = find_gaps(profile.build())
    [sync] = result.synchronizations
    assert (sync.operator, sync.call, sync.calls) == ("aten::item", "cudaStreamSynchronize", 3)
    assert (sync.module, sync.line) == ("model", "train.py(42): train")
    assert sync.phase == "backward"
    gaps = [gap for gap in result.gaps if gap.cause is Cause.SYNC]
    assert [gap.operator for gap in gaps] == ["aten::item"] * 2  # no gap after the last step
    assert sync.idle_ns == sum(gap.duration_ns for gap in gaps) > 0


def test_steps_without_a_synchronization_have_none() -> None:
    profile = FakeProfile()
    for number in range(3):
        step(profile, number * 150 * US)
    result = find_gaps(profile.build())
    assert not result.synchronizations
    assert spent(result).keys() <= {Cause.HOST.value}
    assert len(result.gaps) == 1  # before the first kernel


def test_a_host_that_launches_late_is_the_cause() -> None:
    result = find_gaps(step(FakeProfile(), 0, late=30 * US).build())
    assert spent(result)[Cause.HOST.value] == pytest.approx(10 * US + 9 * 15 * US, rel=0.2)
    last = result.gaps[-1]
    assert (last.operator, last.module, last.phase) == ("aten::mm", "layer9", "between")


def test_a_gap_belongs_to_the_phase_of_its_cause() -> None:
    profile = step(FakeProfile(), 0, with_item=True).phase("forward", 0, 20 * US)
    profile.phase("backward", 20 * US, 100 * US).phase("optimizer", 299 * US, 400 * US)
    gaps = find_gaps(step(profile, 300 * US).build()).gaps
    [late] = [gap for gap in gaps if gap.start_ns == 0]
    [waited] = [gap for gap in gaps if gap.cause is Cause.SYNC]
    assert (late.phase, waited.phase) == ("forward", "backward")


def test_waiting_for_data_and_a_slow_host_are_different_causes() -> None:
    profile = step(FakeProfile(), 0)
    step(profile, 5000 * US).phase("data_wait", 200 * US, 4900 * US)
    longest = max(find_gaps(profile.build()).gaps, key=lambda gap: gap.duration_ns)
    assert longest.cause is Cause.DATA
    assert longest.duration_ns > 4000 * US
    profile = step(step(FakeProfile(), 0), 5000 * US)
    longest = max(find_gaps(profile.build()).gaps, key=lambda gap: gap.duration_ns)
    assert longest.cause is Cause.HOST


def test_waiting_for_data_after_a_synchronization_has_the_cause_data() -> None:
    profile = step(FakeProfile(), 0, with_item=True)
    step(profile, 5000 * US).phase("data_wait", 300 * US, 4900 * US)
    longest = max(find_gaps(profile.build()).gaps, key=lambda gap: gap.duration_ns)
    assert longest.cause is Cause.DATA


def test_a_gap_before_a_queued_kernel_has_the_cause_device() -> None:
    profile = FakeProfile().host("aten::mm", 0, 10)
    profile.call("cudaLaunchKernel", 0, 4, number=1).call("cudaLaunchKernel", 5, 9, number=2)
    profile.device("gemm", 10, 50, 1).device("gemm", 53, 90, 2)
    assert [(gap.cause, gap.duration_ns) for gap in find_gaps(profile.build()).gaps] == [
        (Cause.HOST, 10),
        (Cause.DEVICE, 3),
    ]


def test_a_gap_before_a_kernel_without_a_known_launch_has_an_unknown_cause() -> None:
    profile = FakeProfile().device("gemm", 0, 10).device("gemm", 20, 30)
    assert [gap.cause for gap in find_gaps(profile.build()).gaps] == [Cause.UNKNOWN]


def test_the_synchronization_of_the_profiler_is_ignored() -> None:
    profile = step(FakeProfile(), 0).call("cudaDeviceSynchronize", 60 * US, 230 * US)
    assert not find_gaps(profile.build()).synchronizations


def test_gaps_and_operations_add_up_to_the_wall_time() -> None:
    profile = step(step(FakeProfile(), 0, late=30 * US), 700 * US, with_item=True).build()
    operations = profile.operations
    busy = int(operations.durations_ns[operations.is_on_device].sum())
    idle = sum(gap.duration_ns for gap in find_gaps(profile).gaps)
    assert busy + idle == profile.wall_ns


def test_synchronizations_of_several_windows_are_merged() -> None:
    profile = step(FakeProfile(), 0, with_item=True).build()
    [sync] = find_gaps(profile).synchronizations
    [merged] = merge_synchronizations([sync, sync])
    assert (merged.operator, merged.calls) == ("aten::item", 2)
    assert merged.blocked_ns == 2 * sync.blocked_ns


def test_a_job_without_a_device_has_no_gaps() -> None:
    result = find_gaps(FakeProfile().host("aten::mm", 0, 10).host("aten::mm", 20, 30).build())
    assert result == IdleTime((), ())
