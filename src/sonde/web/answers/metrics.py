"""Which series a node has."""

from collections.abc import Sequence
from typing import Any

from sonde.analyze.counting import counting_order
from sonde.web.answers._answers import Address, Answers
from sonde.web.query_params import Question
from sonde.web.replies import Reply, json_reply


class Metrics(Answers):
    """`metrics`: every metric of one node, with its unit, its meaning and its devices."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (Address("/jobs/{job}/metrics", _metrics),)


def _metrics(question: Question) -> Reply:
    found: dict[str, dict[str, Any]] = {}
    with question.job.node(question.node) as reader:
        for one in reader.series():
            info = one.metric
            entry: dict[str, Any] = {"metric": info.name, "unit": info.unit, "help": info.help}
            known = found.setdefault(info.name, {**entry, "devices": [], "has_whole": False})
            if one.device:
                known["devices"].append(one.device)
            else:
                known["has_whole"] = True
    for entry in found.values():
        entry["devices"].sort(key=counting_order)
    return json_reply([found[name] for name in sorted(found)])
