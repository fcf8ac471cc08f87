"""Kinds, collections and reductions of tensors are consistent."""

from sonde.records.tensor import (
    BUILT_IN_COLLECTIONS,
    COMPUTED_APART,
    Reduction,
    TensorKind,
)
from sonde.store.statistics import REDUCTIONS


def test_every_reduction_has_a_formula_or_is_computed_separately() -> None:
    assert set(Reduction) - COMPUTED_APART == set(REDUCTIONS)


def test_all_includes_every_kind_and_the_default_losses_and_metrics() -> None:
    assert BUILT_IN_COLLECTIONS["all"] == set(TensorKind)
    assert BUILT_IN_COLLECTIONS["default"] == (
        BUILT_IN_COLLECTIONS["losses"] | BUILT_IN_COLLECTIONS["metrics"]
    )
