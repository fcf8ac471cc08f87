"""Histograms as text."""

import numpy as np

from sonde.results.distributions import Distribution


def shown(edges: list[float], unit: str) -> str:
    counts = np.ones(len(edges) - 1, dtype=np.int64)
    return repr(Distribution("Values", unit, "samples", np.array(edges), ("all",), (counts,)))


def test_edges_have_units_and_no_scientific_notation() -> None:
    text = shown([0.0, 61e9, 122e9], "bytes")
    assert "61 GB" in text
    assert "122 GB" in text


def test_edges_of_narrow_bins_differ() -> None:
    text = shown([61_000_000_000.0, 61_000_100_000.0, 61_000_200_000.0], "bytes")
    assert "61,000,100,000" in text
    text = shown([0.0500, 0.05001, 0.05002], "seconds")
    assert "0.05001" in text
