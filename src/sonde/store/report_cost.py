"""What a job's reports cost, where the launcher does not count it.

It counts what its watcher let others do only once that has ended, and the report at the end of the
job not at all. What is kept here is what has to be added.
"""

from sonde.clock import Clock
from sonde.errors import StoreError
from sonde.records.job import ReportCost
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.layout import report_key

REPORT_COST = report_key("cost.json")


def keep_report_cost(backend: Backend, clock: Clock, cpu_seconds: float) -> None:
    """Says what has to be added from now on."""
    cost = ReportCost(round(cpu_seconds, 3), clock.now_ns())
    backend.write(REPORT_COST, encode_facts(cost, REPORT_COST))


def report_cost_since(backend: Backend, start_ns: int) -> float:
    """The CPU seconds to be added to what an attempt has cost that began then."""
    try:
        cost = decode_facts(ReportCost, backend.read(REPORT_COST), REPORT_COST)
    except StoreError:
        return 0.0
    return cost.cpu_seconds if cost.time_ns >= start_ns else 0.0
