"""Documents of a job: absent is no error, damaged is left out and reported to the ledger."""

from collections.abc import Hashable
from functools import lru_cache
from typing import cast

from sonde.errors import DamagedError, KeyMissingError
from sonde.store.backends import Backend
from sonde.store.facts import Record, decode_facts


def read_document(
    kind: type[Record], backend: Backend, key: str, damages: list[str]
) -> Record | None:
    """The record under a key; None where there is none, or none that can be read."""
    try:
        found = _decoded(cast("Hashable", kind), backend.read(key), key)
    except KeyMissingError:
        return None
    except DamagedError as error:
        damages.append(str(error))
        backend.ledger.report(key, str(error))
        return None
    backend.ledger.clear(key)
    return cast("Record", found)


@lru_cache(maxsize=512)  # who looks again and again finds most documents as they were
def _decoded(kind: Hashable, data: bytes, key: str) -> object:
    return decode_facts(cast("type[object]", kind), data, key)
