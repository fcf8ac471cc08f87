"""Storage backends: one module each, selected by the scheme of the URI."""

from sonde.plugins import Slot
from sonde.store.backends._backend import Backend, BytesView, Entry, View

__all__ = ["BACKENDS", "Backend", "BytesView", "Entry", "View", "is_shared", "open_backend"]

BACKENDS = Slot("sonde.store.backends", Backend)

_SCHEMES = {"": "local", "file": "local"}
_WITHIN_A_PROCESS = "memory"


def open_backend(uri: str) -> Backend:
    """The backend for a URI: its scheme is the backend's name; a plain path is a local folder."""
    return BACKENDS.load(_backend_name(uri))(uri)


def is_shared(uri: str) -> bool:
    """Whether there is a backend for a URI whose content other processes can read."""
    scheme = _scheme(uri)
    is_other = scheme in BACKENDS and scheme not in (_WITHIN_A_PROCESS, *_SCHEMES.values())
    return scheme in _SCHEMES or is_other


def _backend_name(uri: str) -> str:
    scheme = _scheme(uri)
    return _SCHEMES.get(scheme, scheme)


def _scheme(uri: str) -> str:
    return uri.partition("://")[0] if "://" in uri else ""
