"""Documents of a job: absent is no error, damaged is left out and said."""

from functools import lru_cache

from sonde.errors import DamagedError, KeyMissingError
from sonde.store.backends import Backend
from sonde.store.facts import Record, decode_facts


def read_document(
    kind: type[Record], backend: Backend, key: str, damages: list[str]
) -> Record | None:
    """The record under a key; None where there is none, or none that can be read."""
    try:
        return _decoded(kind, backend.read(key), key)
    except KeyMissingError:
        return None
    except DamagedError as error:
        damages.append(str(error))
        return None


# who looks at a job again and again finds most of its documents as they were
_decoded = lru_cache(maxsize=512)(decode_facts)
