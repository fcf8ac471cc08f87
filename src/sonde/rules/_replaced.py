"""Names from the manuals of SageMaker Debugger that are not rules here, and what replaces them."""

from collections.abc import Mapping

_ACTION = "it is an action of findings, see `sonde actions`"

# by file name: what to use instead
REPLACED: Mapping[str, str] = {
    "plot_visualizations": "use the charts of `sonde report` and `sonde ui`",
    "stalled_training": "use StalledTrainingRule",
    "poor_initialization": "use PoorWeightInitialization",
    "xgboost_report": "use CreateXgboostReport",
    "stop_training": _ACTION,
    "email": _ACTION,
    "sms": _ACTION,
}
