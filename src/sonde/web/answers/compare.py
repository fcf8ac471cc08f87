"""What differs between jobs."""

from collections.abc import Sequence

from sonde.results.comparison import comparison_document
from sonde.results.run_record import RunRecord, read_run
from sonde.store.layout import check_name
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply
from sonde.web.shared_job import SharedJob

_MAX_JOBS = 8


class Compare(EndpointGroup):
    """`jobs/NAME/compare`: how other jobs differ from this one."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/compare", _compare, is_cached=False),)


def _compare(query: Query) -> Reply:
    names = query.texts("others", _MAX_JOBS - 1)
    jobs = [query.job, *(query.library.job(check_name(name)) for name in names)]
    # one after the other: no thread holds two jobs
    return json_reply(comparison_document([_run(job) for job in jobs]))


def _run(job: SharedJob) -> RunRecord:
    with job.results() as results:
        return read_run(results)
