"""FLOP/s, samples and tokens per second, energy and price of a job."""

import pytest

from sonde.client.job import Job
from sonde.results.cost import cost_text
from sonde.results.headline import headline
from tests.fakes.job import FakeJob, series_of

SECONDS = 0.1  # of a step
PRODUCT = {"shapes": [[1000, 1000], [1000, 1000]]}
TOKENS = {"shapes": [[100, 8], [4, 16], [], [], []]}
KERNEL = "nvjet_sm90_hsh_128x256_64x4_2x1_v_bz_coopA_NNT"
METRICS = ("gpu.utilization_percent/gpu0", "gpu.power_watts/gpu0")


def trained(device_name: str = "NVIDIA H200", price: float | None = None) -> Job:
    """A job of 100 s whose profiled step has a product of 2 GFLOP on 64 tokens in 4 rows."""
    job = FakeJob()
    job.start(price_per_gpu_hour=price)
    worker = job.worker(device="cuda:0", device_name=device_name)
    worker.operation("aten::embedding", "operator", 0.0, 0.01, detail=TOKENS)
    worker.operation("aten::mm", "operator", 0.01, 0.01, detail=PRODUCT)
    worker.operation(KERNEL, "kernel", 0.02, 0.01, device="cuda:0", lane="stream 7")
    worker.step(0, {"forward": SECONDS})
    for number in range(1, 20):
        worker.step(number, {"forward": SECONDS})
    worker.flush()
    for index in range(100):
        time_ns = job.clock.now_ns() - (100 - index) * 10**7
        job.writer.add_sample(time_ns, tuple(map(series_of, METRICS)), [50.0, 300.0])
    return job.end().job()


def test_flops_come_from_the_shapes_of_a_profiled_step() -> None:
    efficiency = trained().efficiency
    assert efficiency.flops_per_second == pytest.approx(2e9 / SECONDS)
    assert efficiency.flops_percent == pytest.approx(100 * 2e10 / 989e12)
    assert efficiency.samples_per_second == pytest.approx(4 / SECONDS)
    assert efficiency.tokens_per_second == pytest.approx(64 / SECONDS)
    assert efficiency.text.endswith("of 989 TFLOP/s (NVIDIA H200, half precision)")


def test_the_peak_of_an_unknown_gpu_is_left_out() -> None:
    job = trained("Unheard-of GPU")
    assert job.efficiency.flops_percent is None
    [figure] = [figure for figure in headline(job) if figure.name == "compute"]
    assert figure.text == "0.02 TFLOP/s"


def test_energy_and_price_follow_from_power_and_gpu_hours() -> None:
    job = trained(price=36.0)
    cost = job.cost
    assert cost is not None
    assert cost.watt_hours == pytest.approx(300 * cost.gpu_hours)
    assert cost.price == pytest.approx(36 * cost.gpu_hours)
    assert cost_text(cost.share(0.5)).endswith(f"price {18 * cost.gpu_hours:,.2f}")


def test_without_a_gpu_there_is_no_cost() -> None:
    job = FakeJob()
    job.worker().step(0, {"forward": SECONDS}).flush()
    assert job.end().job().cost is None
