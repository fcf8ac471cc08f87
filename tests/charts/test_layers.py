"""The heatmap of gradient norms by layer."""

from dataclasses import replace

import numpy as np
import pytest

from sonde.drawing.svg_heat import heatmap
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


def test_layers_without_gradients_are_marked_on_paper(reported: Reported) -> None:
    spec = built(reported, "layers", Heatmap)
    assert spec.marks_zero
    assert "zero" not in str(heatmap(spec))
    first, *others = spec.values
    dead = replace(spec, values=(tuple(0.0 for _ in first), *others))
    drawn = str(heatmap(dead))
    assert "<text" in drawn
    assert ">zero</text>" in drawn
    assert 'class="f-c4"' in drawn
