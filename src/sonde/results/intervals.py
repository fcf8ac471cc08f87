"""Time intervals of events and steps, by node."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sonde.analyze.extents import Extents
from sonde.clock import NANOSECONDS
from sonde.read.collectives import node_of
from sonde.read.workers import WorkerReader
from sonde.store.tables import to_numpy


def extents_by_node(table: pa.Table, readers: Sequence[WorkerReader]) -> dict[str, Extents]:
    """The time that rows of workers cover on each node.

    Args:
        table: With the columns `worker`, `time` and `seconds`.
        readers: The workers.
    """
    if not table.num_rows:
        return {}
    workers = to_numpy(table["worker"])
    starts_ns = to_numpy(table["time"].cast(pa.int64()))
    ends_ns = starts_ns + np.round(to_numpy(table["seconds"]) * NANOSECONDS).astype(np.int64)
    ranks: dict[str, list[int]] = {}
    for reader in readers:
        ranks.setdefault(node_of(reader), []).append(reader.rank)
    extents = {}
    for node, node_ranks in ranks.items():
        is_local = np.isin(workers, node_ranks)
        extents[node] = Extents.of(starts_ns[is_local], ends_ns[is_local])
    return extents
