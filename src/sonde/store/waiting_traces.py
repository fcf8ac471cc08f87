"""Which traces profilers have left that nobody has decoded yet. Loaded by launchers: no numpy."""

from collections.abc import Iterator

from sonde.records.profile import ProfileKind
from sonde.store import layout
from sonde.store.backends import Backend

_KIND = ProfileKind.OPERATORS.value


def waiting_traces(backend: Backend) -> Iterator[str]:
    """The keys, without a suffix, of all workers' traces that wait."""
    for rank in backend.folders(layout.WORKERS):
        if rank.isdecimal():
            yield from waiting_traces_of(backend, int(rank))


def waiting_traces_of(backend: Backend, rank: int) -> Iterator[str]:
    """Those of one worker. Their facts are written last, and removed once they are decoded."""
    folder, _, _ = layout.profile_key(rank, _KIND, 0, "").rpartition("/")
    for entry in backend.entries(folder):
        stem = entry.key.removesuffix(layout.TRACE_FACTS_SUFFIX)
        if stem != entry.key and stem.startswith(f"{folder}/{_KIND}-"):
            yield stem
