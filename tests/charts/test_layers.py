"""The heatmap of gradient norms by layer."""

import numpy as np
import pytest

from sonde.records.chart import Heatmap
from tests.charts.built import built
from tests.fakes.reported import STEPS, Reported


def test_layers_chart_shows_gradient_norms(reported: Reported) -> None:
    spec = built(reported, "layers", Heatmap)
    assert spec.x == tuple(range(0, STEPS, 20))
    rows = dict(zip(spec.rows, spec.values, strict=True))
    for layer in ("first.weight", "last.weight"):
        norms = [np.linalg.norm(gradient) for gradient in reported.gradients[f"0/{layer}"]]
        assert rows[f"gradient/{layer}"] == pytest.approx(norms)
    assert spec.is_logarithmic
