"""CPU time of a job's reports that the launcher does not count.

The launcher counts the children of the rules process only after it ends, and does not count the
report at the end of the job. The missing time is stored here.
"""

from sonde.clock import Clock
from sonde.errors import StoreError
from sonde.records.job import ReportCost
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.layout import report_key

REPORT_COST = report_key("cost.json")


def keep_report_cost(backend: Backend, clock: Clock, cpu_seconds: float) -> None:
    """Store the CPU time to add from now on."""
    cost = ReportCost(round(cpu_seconds, 3), clock.now_ns())
    backend.write(REPORT_COST, encode_facts(cost, REPORT_COST))


def report_cost_since(backend: Backend, start_ns: int) -> float:
    """The CPU seconds to add to the cost of an attempt that started at `start_ns`."""
    try:
        cost = decode_facts(ReportCost, backend.read(REPORT_COST), REPORT_COST)
    except StoreError:
        return 0.0
    return cost.cpu_seconds if cost.time_ns >= start_ns else 0.0
