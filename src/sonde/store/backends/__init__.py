"""Storage backends: one module each, selected by the scheme of the URI."""

from sonde.plugins import Slot
from sonde.store.backends._backend import Backend, BytesView, Entry, View

__all__ = ["BACKENDS", "Backend", "BytesView", "Entry", "View", "open_backend"]

BACKENDS = Slot("sonde.store.backends", Backend)

_SCHEMES = {"": "local", "file": "local"}


def open_backend(uri: str) -> Backend:
    """The backend for a URI: its scheme is the backend's name; a plain path is a local folder."""
    scheme = uri.partition("://")[0] if "://" in uri else ""
    return BACKENDS.load(_SCHEMES.get(scheme, scheme))(uri)
