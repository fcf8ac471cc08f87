"""Counts optimizer steps in threads that are not recorded, and reports them."""

import threading

from sonde.hook.session import Session
from sonde.records.notice import NoticeKind

_SUBJECT = "training in other threads"


class OtherThreads:
    """Counts optimizer steps by thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._counts: dict[int, int] = {}
        session.listeners.on_begin(self._reset)
        session.listeners.on_end(self._report)

    def _reset(self) -> None:
        self._counts = {}

    def steps(self, *, is_idle: bool) -> None:
        """Count a step of the calling thread, or record that thread if the current one is idle."""
        session = self._session
        if not (session.state.is_on and session.thread.id) or session.thread.claim(is_idle=is_idle):
            return
        ident = threading.get_ident()
        self._counts[ident] = self._counts.get(ident, 0) + 1
        if self._counts[ident] == 1:
            reason = "only the first thread that trains is recorded"
            session.store.notice(NoticeKind.NOT_COLLECTED, _SUBJECT, reason)

    def _report(self) -> None:
        steps, threads = sum(self._counts.values()), len(self._counts)
        if steps:
            noun = "threads" if threads > 1 else "thread"
            reason = f"{steps} optimizer steps in {threads} other {noun} were not recorded"
            self._session.store.report_unrecorded(_SUBJECT, reason)
