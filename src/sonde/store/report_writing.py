"""The marker of a report that is finished in the background, after `sonde run` has exited."""

from sonde.clock import Clock
from sonde.errors import StoreError
from sonde.records.job import ReportWriting
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.layout import report_key
from sonde.store.presence import is_alive, process_with

REPORT_WRITING = report_key("writing.json")


def mark_report(backend: Backend, clock: Clock, pid: int) -> None:
    """Record that a process of this machine writes the report."""
    marker = ReportWriting(process_with(pid), clock.now_ns())
    backend.write(REPORT_WRITING, encode_facts(marker, REPORT_WRITING))


def unmark_report(backend: Backend) -> None:
    """Remove the marker, if there is one."""
    if backend.exists(REPORT_WRITING):
        backend.delete([REPORT_WRITING])


def is_report_written_now(backend: Backend) -> bool | None:
    """Whether a process writes the report; None if it was started and has disappeared.

    A process on another machine cannot be seen: it counts as writing as long as its marker exists.
    """
    try:
        marker = decode_facts(ReportWriting, backend.read(REPORT_WRITING), REPORT_WRITING)
    except StoreError:
        return False
    return None if is_alive(marker.process) is False else True
