"""The status document as `Job.summary` returns it."""

from typing import Any

from sonde.results.job_card import job_card


class Summary(dict[str, Any]):
    """The status document: a dictionary that prints as `sonde status` does."""

    def __repr__(self) -> str:
        from sonde.terminal.output import readable  # noqa: PLC0415 — slow to load
        from sonde.terminal.status import status_lines  # noqa: PLC0415 — slow to load

        return "\n".join(readable(line).plain.rstrip() for line in status_lines(self))

    def _repr_html_(self) -> str:
        return job_card(self)
