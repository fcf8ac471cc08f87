"""The list of jobs in the store."""

from collections.abc import Sequence

from sonde import __version__
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply

_STATES = (
    "",
    "starting",
    "running",
    "completed",
    "failed",
    "stopped",
    "lost",
    "ended",
    "broken",
    "over",
)
_COLUMNS = ("start", "name", "duration", "state", "findings")
_SORTS = tuple(f"{sign}{name}" for name in _COLUMNS for sign in ("-", ""))
_MAX_ROWS = 500


class Jobs(EndpointGroup):
    """`jobs`: a page of the list, searched, filtered and sorted."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs", _jobs),)


def _jobs(query: Query) -> Reply:
    catalog = query.library.catalog
    names = catalog.find(
        query.text("search"), query.choice("state", _STATES), query.choice("sort", _SORTS)
    )
    offset = query.integer("offset", 0, 0, 10_000_000)
    limit = query.integer("limit", 50, 1, _MAX_ROWS)
    rows = catalog.rows(names[offset : offset + limit])
    return json_reply(
        {
            "jobs": rows,
            "total": len(names),
            "unread": catalog.unread,
            "store": query.library.store,
            "version": __version__,
            "now": query.library.clock.now_ns() / 1_000_000_000,
        }
    )
