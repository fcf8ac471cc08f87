"""The metrics of a node."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sonde.analyze.natural_sort import natural_sort_key
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.query_params import Query
from sonde.web.replies import Reply, json_reply

if TYPE_CHECKING:
    from sonde.web.documents import MetricDocument


class Metrics(EndpointGroup):
    """`metrics`: every metric of a node with its unit, description and devices."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/metrics", _metrics),)


def _metrics(query: Query) -> Reply:
    metrics: dict[str, MetricDocument] = {}
    with query.job.node(query.node) as reader:
        for series in reader.series():
            info = series.metric
            metric = metrics.setdefault(
                info.name,
                {
                    "metric": info.name,
                    "unit": info.unit,
                    "help": info.help,
                    "devices": [],
                    "has_whole": False,
                },
            )
            if series.device:
                metric["devices"].append(series.device)
            else:
                metric["has_whole"] = True
    for entry in metrics.values():
        entry["devices"].sort(key=natural_sort_key)
    return json_reply([metrics[name] for name in sorted(metrics)])
