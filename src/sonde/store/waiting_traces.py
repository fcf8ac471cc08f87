"""List traces that are not decoded yet. Loaded by launchers, so it must not import numpy."""

from collections.abc import Iterator

from sonde.records.profile import ProfileKind
from sonde.store import layout
from sonde.store.backends import Backend

_KIND = ProfileKind.OPERATORS.value


def waiting_traces(backend: Backend) -> Iterator[str]:
    """The keys, without suffix, of all undecoded traces."""
    for rank in backend.folders(layout.WORKERS):
        if rank.isdecimal():
            yield from waiting_traces_of(backend, int(rank))


def waiting_traces_of(backend: Backend, rank: int) -> Iterator[str]:
    """The undecoded traces of one worker; their facts are removed after decoding."""
    folder, _, _ = layout.profile_key(rank, _KIND, 0, "").rpartition("/")
    for entry in backend.entries(folder):
        stem = entry.key.removesuffix(layout.TRACE_FACTS_SUFFIX)
        if stem != entry.key and stem.startswith(f"{folder}/{_KIND}-"):
            yield stem
