"""All jobs of the store."""

from collections.abc import Sequence

from sonde import __version__
from sonde.web.answers._answers import Address, Answers
from sonde.web.query_params import Question
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
_MOST_ROWS = 500


class Jobs(Answers):
    """`jobs`: a page of the list, searched, filtered and sorted."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (Address("/jobs", _jobs),)


def _jobs(question: Question) -> Reply:
    catalogue = question.library.catalogue
    found = catalogue.find(
        question.text("search"), question.choice("state", _STATES), question.choice("sort", _SORTS)
    )
    offset = question.whole("offset", 0, 0, 10_000_000)
    limit = question.whole("limit", 50, 1, _MOST_ROWS)
    rows = catalogue.rows(found[offset : offset + limit])
    return json_reply(
        {
            "jobs": rows,
            "total": len(found),
            "unread": catalogue.unread,
            "store": question.library.store,
            "version": __version__,
            "now": question.library.clock.now_ns() / 1_000_000_000,
        }
    )
