"""Losses of many kinds of healthy trainings, which rules must not report.

Thresholds were set on hundreds of seeds of each kind; tests run a few.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from sonde.records.arrays import FloatArray

Random = np.random.Generator


@dataclass(frozen=True)
class HealthyRun:
    """A loss per step, and other scalars."""

    losses: FloatArray
    scalars: Mapping[str, FloatArray] = field(default_factory=dict)


def _steps(rng: Random, min_steps: int = 300, max_steps: int = 3000) -> FloatArray:
    return np.arange(
        int(np.exp(rng.uniform(np.log(min_steps), np.log(max_steps)))), dtype=np.float64
    )


def _noisy(rng: Random, level: FloatArray, noise: float) -> FloatArray:
    """Add noise as of small batches: relative to the level, and skewed."""
    shape = 1 / noise**2
    return level * rng.gamma(shape, 1 / shape, len(level))


def _fall(rng: Random, at: FloatArray, floor: float = 0.0) -> FloatArray:
    start, pace = rng.uniform(0.7, 7), len(at) * rng.uniform(0.02, 0.4)
    end = max(floor, rng.uniform(0.02, 0.5)) * start
    return end + (start - end) * np.exp(-at / pace)


def classification(rng: Random) -> HealthyRun:
    """Falls quickly, then slower."""
    at = _steps(rng)
    return HealthyRun(_noisy(rng, _fall(rng, at), rng.uniform(0.02, 0.3)))


def power_law(rng: Random) -> HealthyRun:
    """Falls by a power law, as language models do."""
    at = _steps(rng)
    level = 1.5 + 9 * (1 + at / rng.uniform(5, 50)) ** -rng.uniform(0.2, 0.6)
    return HealthyRun(_noisy(rng, level, rng.uniform(0.01, 0.1)))


def batch_of_four(rng: Random) -> HealthyRun:
    """Very noisy, with a heavy tail."""
    at = _steps(rng)
    return HealthyRun(_noisy(rng, _fall(rng, at, 0.15), rng.uniform(0.4, 1.0)))


def near_zero(rng: Random) -> HealthyRun:
    """Falls to nearly zero, where ratios fluctuate strongly."""
    at = _steps(rng, 500)
    level = 2.3 * np.exp(-at / rng.uniform(30, 80)) + 10 ** rng.uniform(-7, -3)
    return HealthyRun(level * np.exp(rng.uniform(0.5, 1.8) * rng.standard_normal(len(at))))


def rare_mistakes(rng: Random) -> HealthyRun:
    """Near zero, except for single misclassified samples."""
    at = _steps(rng, 500)
    level = 2.3 * np.exp(-at / 60) + 0.005
    is_wrong = rng.random(len(at)) < rng.uniform(0.001, 0.03)
    return HealthyRun(_noisy(rng, level, 0.3) + is_wrong * rng.exponential(1.0, len(at)))


def plateau_then_drop(rng: Random) -> HealthyRun:
    """Stays at the loss of random guesses, and then learns."""
    at = _steps(rng, 800)
    until = rng.uniform(0.1, 0.5) * len(at)
    drop = 1 / (1 + np.exp(-(at - until) / rng.uniform(5, 60)))
    start = 2.303 * (1 + rng.uniform(0.01, 0.15) * np.exp(-at / 10))
    return HealthyRun(_noisy(rng, start - 2.0 * drop, rng.uniform(0.005, 0.1)))


def contrastive(rng: Random) -> HealthyRun:
    """Stays near the logarithm of the batch size, then falls slowly."""
    at = _steps(rng, 600)
    level = np.log(256) * (1 - rng.uniform(0.1, 0.6) * (at / len(at)) ** rng.uniform(0.4, 1.2))
    return HealthyRun(_noisy(rng, level, rng.uniform(0.005, 0.05)))


def warm_up(rng: Random) -> HealthyRun:
    """Learning rate warm-up from zero: no progress at first."""
    at = _steps(rng, 500)
    warm = rng.uniform(0.05, 0.4) * len(at)
    rate = 1e-3 * np.minimum(1.0, at / warm) * (1 + np.cos(np.pi * at / len(at))) / 2
    level = 0.3 + 2.0 * np.exp(-np.cumsum(rate) / (1e-3 * len(at) * rng.uniform(0.03, 0.15)))
    return HealthyRun(_noisy(rng, level, rng.uniform(0.02, 0.2)), {"learning_rate/0": rate})


def restarts(rng: Random) -> HealthyRun:
    """Cyclic learning rate: the loss rises with each restart."""
    at = _steps(rng, 800)
    period = int(rng.uniform(150, 400))
    rate = 0.05 * (1 + np.cos(np.pi * (at % period) / period)) + 1e-5
    level = _fall(rng, at) + rng.uniform(0.1, 0.6) * rate / 0.1
    return HealthyRun(_noisy(rng, level, rng.uniform(0.02, 0.15)), {"learning_rate/0": rate})


def stairs(rng: Random) -> HealthyRun:
    """Falls when the learning rate is reduced, with plateaus in between."""
    at = _steps(rng, 600)
    stair = at // (len(at) / 3)
    level = 0.2 + 1.5 * np.exp(-at / 40) + 0.5 * 0.3**stair
    rate = 0.1 * 0.1**stair
    return HealthyRun(_noisy(rng, level, rng.uniform(0.03, 0.3)), {"learning_rate/0": rate})


def regression(rng: Random) -> HealthyRun:
    """Squared errors of any size, with outliers."""
    at = _steps(rng)
    level = _fall(rng, at) * 10 ** rng.uniform(-6, 6)
    tail = rng.standard_t(4, (len(at), 16)) ** 2
    return HealthyRun(level * tail.mean(axis=1) / 2)


def log_likelihood(rng: Random) -> HealthyRun:
    """Negative log-likelihood of a density: falls below zero."""
    at = _steps(rng)
    level = rng.uniform(0.5, 3) - rng.uniform(3, 30) * (1 - np.exp(-at / (0.2 * len(at))))
    return HealthyRun(level + rng.uniform(0.05, 0.5) * rng.standard_normal(len(at)))


def fine_tuning(rng: Random) -> HealthyRun:
    """Pretrained model: falls slightly, with much noise."""
    at = _steps(rng, 600)
    level = 1 - rng.uniform(0.08, 0.3) * (1 - np.exp(-at / (len(at) * rng.uniform(0.05, 0.3))))
    return HealthyRun(_noisy(rng, rng.uniform(0.3, 3) * level, rng.uniform(0.05, 0.25)))


def weak_signal(rng: Random) -> HealthyRun:
    """Weak signal: falls by a few percent at once, then stays flat."""
    at = _steps(rng, 400)
    level = 1 - rng.uniform(0.03, 0.1) * (1 - np.exp(-at / rng.uniform(10, 80)))
    return HealthyRun(_noisy(rng, 0.7 * level, rng.uniform(0.005, 0.06)))


def harder_and_harder(rng: Random) -> HealthyRun:
    """Falls, then rises as a second loss term or the difficulty grows."""
    at = _steps(rng, 500)
    level = _fall(rng, at, 0.2)
    level = level + rng.uniform(0.1, 0.5) * level[0] * np.clip(at / len(at) - 0.3, 0, 1)
    return HealthyRun(_noisy(rng, level, rng.uniform(0.03, 0.2)))


def epochs(rng: Random) -> HealthyRun:
    """Falls from epoch to epoch, as a model that memorizes, with a wave inside each epoch."""
    at = _steps(rng, 500)
    period = rng.uniform(40, 200)
    wave = 1 + rng.uniform(0.0, 0.3) * np.sin(2 * np.pi * at / period)
    level = 0.05 + 2.2 * np.exp(-(at // period) * rng.uniform(0.1, 0.6))
    return HealthyRun(_noisy(rng, level * wave, rng.uniform(0.05, 0.3)))


def correlated(rng: Random) -> HealthyRun:
    """Noise that is correlated between steps, as with unshuffled data."""
    at = _steps(rng)
    noise, value = np.empty(len(at)), 0.0
    persistence = rng.uniform(0.8, 0.98)
    for index in range(len(at)):
        value = persistence * value + np.sqrt(1 - persistence**2) * rng.standard_normal()
        noise[index] = value
    return HealthyRun(_fall(rng, at, 0.2) * np.exp(rng.uniform(0.05, 0.25) * noise))


def one_batch(rng: Random) -> HealthyRun:
    """Trains on the same batch without any noise."""
    at = _steps(rng, 300, 1500)
    return HealthyRun(2.3 * np.exp(-at / rng.uniform(20, 150)) + 1e-9)


HEALTHY: Mapping[str, Callable[[Random], HealthyRun]] = {
    run.__name__: run
    for run in (
        *(classification, power_law, batch_of_four, near_zero, rare_mistakes, plateau_then_drop),
        *(contrastive, warm_up, restarts, stairs, regression, log_likelihood, fine_tuning),
        *(weak_signal, harder_and_harder, epochs, correlated, one_batch),
    )
}
