"""Build charts of a test job."""

import json
from typing import Any

from sonde.charts import CHARTS
from sonde.records.chart import Spec
from tests.fakes.reported import Reported


def built(reported: Reported, name: str, kind: type[Spec]) -> Any:
    """Return the spec of a chart, which can be sent as JSON."""
    spec = CHARTS.load(name)().build(reported.job)
    assert isinstance(spec, kind)
    json.dumps(spec.document(), allow_nan=False)
    return spec
