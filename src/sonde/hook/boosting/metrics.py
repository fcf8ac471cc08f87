"""Tell losses, which fall as a model gets better, from scores, by the names of metrics."""

from collections.abc import Iterable

_LOSSES = frozenset(
    (
        *("rmse", "rmsle", "mae", "mape", "mphe", "logloss", "mlogloss", "quantile", "expectile"),
        *("poisson-nloglik", "gamma-nloglik", "cox-nloglik", "aft-nloglik", "tweedie-nloglik"),
        *("gamma-deviance", "l1", "l2", "mse", "huber", "fair", "poisson", "gamma", "tweedie"),
        *("gamma_deviance", "binary_logloss", "multi_logloss", "cross_entropy"),
        *("cross_entropy_lambda", "kullback_leibler"),
    )
)
# shares of wrong predictions: losses that change in jumps, used if there is no other
_ERROR_RATES = frozenset(("error", "merror", "binary_error", "multi_error"))


def main_loss(metrics: Iterable[str]) -> str:
    """The metric that is the loss of an evaluation; empty if none is."""
    names = list(metrics)
    for known in (_LOSSES, _ERROR_RATES):
        for name in names:
            if name.partition("@")[0] in known:
                return name
    return next((name for name in names if "loss" in name.lower()), "")
