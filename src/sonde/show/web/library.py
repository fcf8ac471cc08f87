"""All jobs of a store, those that are looked at kept open."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from sonde.clock import Clock
from sonde.errors import JobNotFoundError
from sonde.show.web.catalogue import Catalogue
from sonde.show.web.open_job import OpenJob, ViewMaker
from sonde.store.backends import open_backend
from sonde.store.decoded import Decoded
from sonde.store.places import holds_job, job_uri

_MOST_OPEN = 16
_MOST_SAMPLE_BYTES = 128 << 20  # a day and a half of 120 series at 500 ms

# What a rule says of itself, by its name; None where nobody knows it. Show may not know the rules.
RulePage = Callable[[str], Mapping[str, Any] | None]


class Library:
    """A store, for all threads of the server."""

    def __init__(
        self,
        store: str,
        clock: Clock,
        make_view: ViewMaker,
        rule_page: RulePage = lambda _rule: None,
    ) -> None:
        self.rule_page = rule_page
        self.store = store
        self.clock = clock
        self.catalogue = Catalogue(store, clock)
        self._make_view = make_view
        self._samples = Decoded(_MOST_SAMPLE_BYTES)
        self._lock = threading.RLock()
        self._open: OrderedDict[str, OpenJob] = OrderedDict()

    def job(self, name: str) -> OpenJob:
        """A job by its name, which has been checked; nothing outside of the store is opened."""
        with self._lock:
            known = self._open.get(name)
            if known is not None:
                self._open.move_to_end(name)
        if known is not None:
            if known.is_the_same:
                return known
            self.forget(name)
        backend = open_backend(job_uri(self.store, name))
        if not holds_job(backend):
            raise JobNotFoundError(f"No job {name!r} in this store.")
        opened = OpenJob(backend, self.clock, self._make_view, self._samples)
        with self._lock:
            opened = self._open.setdefault(name, opened)
            while len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)
            return opened

    def forget(self, name: str) -> None:
        """A job is gone."""
        with self._lock:
            self._open.pop(name, None)
        self.catalogue.forget(name)
