"""What differs between jobs."""

from collections.abc import Sequence

from sonde.results.aligned_losses import AXES, aligned_losses
from sonde.results.comparison import comparison_document
from sonde.results.run_record import RunRecord, read_run
from sonde.store.layout import check_name
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply
from sonde.web.shared_job import SharedJob

_MAX_JOBS = 8
_FRESH_SECONDS = 5.0


class Compare(EndpointGroup):
    """`jobs/NAME/compare`: how other jobs differ from this one."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (
            Endpoint("/jobs/{job}/compare", _compare, is_cached=False),
            Endpoint("/jobs/{job}/compare/losses", _losses, is_cached=False),
        )


def _compare(query: Query) -> Reply:
    return json_reply(comparison_document(_runs(query)))


def _losses(query: Query) -> Reply:
    smoothing = query.integer("smoothing", 0, 0, 99) / 100
    chart = aligned_losses(_runs(query), query.choice("by", AXES), smoothing)
    return json_reply({"spec": chart.document() if chart else None})


def _runs(query: Query) -> list[RunRecord]:
    names = query.texts("others", _MAX_JOBS - 1)
    jobs = [query.job, *(query.library.job(check_name(name)) for name in names)]
    return [_run(job) for job in jobs]  # one after the other: no thread holds two jobs


def _run(job: SharedJob) -> RunRecord:
    """What a comparison reads; the losses are often asked for again with another axis."""

    def read() -> RunRecord:
        with job.results() as results:
            return read_run(results)

    return job.cached("run", _FRESH_SECONDS, read)
