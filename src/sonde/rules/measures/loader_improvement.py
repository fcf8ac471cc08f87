"""What faster data loading brings: more loader processes, or cheaper batches."""

from collections.abc import Iterator

from sonde.analyze.speedups import gain_from, upper_bound
from sonde.formats import format_duration
from sonde.records.advice import Basis, Bottleneck, Improvement, Remedy, best_first
from sonde.rules.measures.training_loader import TrainingLoader


def starvation_improvement(
    loader: TrainingLoader | None, wait_seconds: float, step_seconds: float
) -> Improvement:
    """The remedies for steps that wait for data.

    Args:
        loader: The training loader; None if it is not a PyTorch loader.
        wait_seconds: The wait of a step.
        step_seconds: The step with its wait.
    """
    remedies = (
        *_more_processes(loader, wait_seconds, step_seconds),
        _cheaper_batches(wait_seconds, step_seconds),
    )
    return Improvement(Bottleneck.DATA, best_first(remedies))


def _more_processes(
    loader: TrainingLoader | None, wait_seconds: float, step_seconds: float
) -> Iterator[Remedy]:
    if loader is None or loader.advised is None or loader.advised <= loader.processes:
        return
    saved = [max(0.0, step_seconds - seconds) for seconds in loader.step_seconds]
    if len(saved) != 3:
        return
    best, expected, worst = (min(seconds, wait_seconds) for seconds in saved)
    reason = (
        f"steps wait {format_duration(wait_seconds)} of {format_duration(step_seconds)}; this "
        f"many processes prepare batches while the model trains ({loader.cores} cores)."
    )
    gain = gain_from(step_seconds, (worst, expected, best), Basis.MODELED, reason)
    code = f"DataLoader(…, num_workers={loader.advised}, persistent_workers=True)"
    yield Remedy(f"num_workers={loader.advised}", code, gain)


def _cheaper_batches(wait_seconds: float, step_seconds: float) -> Remedy:
    reason = f"at most the wait of {format_duration(wait_seconds)} per step disappears."
    gain = upper_bound(step_seconds, wait_seconds, reason)
    return Remedy("batches that are cheaper to prepare", "", gain)
