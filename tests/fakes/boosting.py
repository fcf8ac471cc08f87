"""Record a library of boosted trees in the process of the test."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.clock import SystemClock
from sonde.hook.frameworks import Adapter
from sonde.hook.session import Session
from sonde.settings import HookSettings, WorkerPlacement, read_collections
from tests.fakes.session import Recorded

Array = npt.NDArray[Any]

_NUMBERS = count()
_PERCENT = 1000.0  # of the training time: every round is inspected


@contextmanager
def recorded_training(adapter: Adapter, *saves: str, **settings: Any) -> Iterator[Recorded]:
    """Record everything inside the context with an adapter.

    Args:
        adapter: The adapter, which is detached at the end.
        *saves: Collections to save, as on the command line.
        ****settings: Settings of the hook.
    """
    worker = WorkerPlacement(node="node-a", job_uri=f"memory://boosting-{next(_NUMBERS)}", rank=0)
    more = {"statistics": (), "profile": (), "overhead_percent": _PERCENT, **settings}
    hook = HookSettings(**{"collections": read_collections(list(saves)), **more})
    session = Session(worker, hook, SystemClock())
    adapter.attach(session)
    recorded = Recorded(session)
    try:
        yield recorded
    finally:
        session.close()
        adapter.detach()
    assert session.guard.failed == {}
    recorded.read()


def two_classes(rows: int = 300, seed: int = 0) -> tuple[Array, Array]:
    """Features, and labels 0 and 1 that depend on two of them."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(rows, 6)).astype(np.float32)
    noise = random.normal(size=rows) / 2
    return features, (features[:, 0] + features[:, 1] ** 2 + noise > 1).astype(np.float32)


def three_classes(rows: int = 300, seed: int = 0) -> tuple[Array, Array]:
    """Features, and labels 0, 1 and 2 that depend on one of them."""
    features, _ = two_classes(rows, seed)
    return features, np.clip(np.round(features[:, 0]) + 1, 0, 2)


def numbers(rows: int = 300, seed: int = 0) -> tuple[Array, Array]:
    """Features, and numbers that depend on two of them."""
    features, _ = two_classes(rows, seed)
    return features, 2 * features[:, 0] + features[:, 1] ** 2
