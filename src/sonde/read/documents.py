"""Read documents of a job. Missing ones are None; damaged ones are reported to the ledger."""

from collections.abc import Hashable
from functools import lru_cache
from typing import cast

from sonde.errors import DamagedError, KeyMissingError
from sonde.store.backends import Backend
from sonde.store.facts import Record, decode_facts


def read_document(
    kind: type[Record], backend: Backend, key: str, damages: list[str]
) -> Record | None:
    """The record stored under a key; None if it is missing or damaged."""
    try:
        record = _decoded(cast("Hashable", kind), backend.read(key), key)
    except KeyMissingError:
        return None
    except DamagedError as error:
        damages.append(str(error))
        backend.ledger.report(key, str(error))
        return None
    backend.ledger.clear(key)
    return cast("Record", record)


@lru_cache(maxsize=512)  # most documents do not change between two reads
def _decoded(kind: Hashable, data: bytes, key: str) -> object:
    return decode_facts(cast("type[object]", kind), data, key)
