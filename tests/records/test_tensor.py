"""The words for tensors agree with each other."""

from sonde.records.tensor import (
    BUILT_IN_COLLECTIONS,
    COMPUTED_APART,
    Reduction,
    TensorKind,
)
from sonde.store.statistics import REDUCTIONS


def test_every_reduction_follows_from_the_statistics_or_is_computed_apart() -> None:
    assert set(Reduction) - COMPUTED_APART == set(REDUCTIONS)


def test_all_holds_every_kind_and_the_default_losses_and_metrics() -> None:
    assert BUILT_IN_COLLECTIONS["all"] == set(TensorKind)
    assert BUILT_IN_COLLECTIONS["default"] == (
        BUILT_IN_COLLECTIONS["losses"] | BUILT_IN_COLLECTIONS["metrics"]
    )
