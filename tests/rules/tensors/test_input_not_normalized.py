"""InputNotNormalized: planted faults and their healthy twins."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from sonde.records.worker import TensorInfo
from tests.fakes.job import FakeJob

INSPECTED_STEPS = (0, 1, 2, 3, 5, 8)
PIXELS = np.linspace(0.0, 255.0, 100)


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("InputNotNormalized", **parameters)["InputNotNormalized"]


def training(
    values: FloatArray,
    *,
    name: str = "input_0",
    dtype: str = "float32",
    shape: tuple[int, ...] = (32, 1, 28, 28),
    layers: Sequence[tuple[int, ...]] = ((16, 784), (16,)),
    activation: str = "relu",
    before: float | None = None,
    gradient: float | None = None,
) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    infos = [TensorInfo(name, ("inputs",), dtype, shape)]
    infos += [
        TensorInfo(f"{index}.weight", ("weights",), "float32", item)
        for index, item in enumerate(layers)
    ]
    infos.append(TensorInfo("gradient/0.weight", ("gradients",), "float32", (16, 784)))
    infos.append(TensorInfo("gradient/0.bias", ("gradients",), "float32", (16,)))
    worker._tensors |= {info.name: info for info in infos}
    worker.add_tensor(f"{activation}_input", f"{activation}_input")
    for step in range(20):
        if step in INSPECTED_STEPS:
            worker.statistics(name, step, values)
            if before is not None:
                worker.statistics(f"{activation}_input", step, [before, -before])
            if gradient is not None:
                worker.statistics("gradient/0.weight", step, np.full(16 * 784, 0.01 * gradient))
                worker.statistics("gradient/0.bias", step, np.full(16, 0.01))
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("before", [None, 40.0])
def test_pixels_up_to_255_are_reported(activation: str, before: float | None) -> None:
    job = training(PIXELS, layers=((16, 784), (8, 16)), activation=activation, before=before)
    [episode] = check(job).episodes
    assert episode.finding.tensor == "input_0"
    assert episode.finding.evidence["mean"] == pytest.approx(127.5)
    assert "(range 0 to 255)" in episode.finding.message


def test_pixels_are_reported_if_gradients_show_no_scaling() -> None:
    layers = ((16, 784), (8, 16))
    assert check(training(PIXELS, layers=layers, gradient=127.0)).episodes
    assert check(
        training(PIXELS - 127.5, layers=layers, gradient=0.8)
    ).episodes  # a centered input leaves no trace


def test_pixels_divided_twice_are_reported() -> None:
    assert check(training(PIXELS / 255**2, layers=((16, 784), (8, 16)))).episodes


MATRICES = ((16, 784), (8, 16))
HEALTHY: Mapping[str, Mapping[str, Any]] = {
    "normalized": {"values": np.linspace(-2, 2, 100)},
    "pixels up to 1": {"values": PIXELS / 255},
    "counts from 0 to 16": {"values": np.linspace(0, 16, 100)},
    "log spectrum": {"values": np.linspace(-12, 2, 100)},
    "raw units into a normalization": {"values": PIXELS, "layers": ((784,), (16, 784))},
    "a convolution and its normalization": {"values": PIXELS, "layers": ((8, 1, 3, 3), (8,))},
    "a model that scales its input": {"values": PIXELS, "before": 0.6},
    "a model with tanh that scales its input": {
        "values": PIXELS,
        "activation": "tanh",
        "before": 0.6,
    },
    "a model with sigmoid that scales its input": {
        "values": PIXELS,
        "activation": "sigmoid",
        "before": 0.6,
    },
    "a model without activations that scales its input": {
        "values": PIXELS,
        "layers": MATRICES,
        "gradient": 0.8,
    },
    "tokens": {"values": PIXELS, "dtype": "int64", "shape": (32, 20)},
    "diffusion time steps": {"values": PIXELS, "shape": (32,)},
    "a mask": {"values": np.where(np.arange(100) < 50, 0.0, -1e9), "name": "attention_mask_0"},
    "sparse counts": {"values": np.where(np.arange(100) < 90, 0.0, 300.0)},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_inputs_are_not_reported(name: str) -> None:
    result = check(training(**{"layers": MATRICES, **HEALTHY[name]}))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_small_side_input_is_not_reported() -> None:
    job = FakeJob()
    worker = job.worker()
    for name, shape in (("input_0", (32, 784)), ("input_1", (32, 4))):
        worker._tensors[name] = TensorInfo(name, ("inputs",), "float32", shape)
    for step in range(10):
        worker.statistics("input_0", step, np.linspace(-1, 1, 100))
        worker.statistics("input_1", step, [500.0, 600.0]).step(step, {"forward": 0.1})
    worker.flush()
    assert check(job.end()).episodes == ()


def test_explicit_limits_apply() -> None:
    assert check(training(PIXELS / 255, layers=MATRICES), largest=0.5).episodes
