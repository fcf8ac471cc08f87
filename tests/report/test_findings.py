"""Findings in the report."""

from sonde.report.findings import finding_cards


def test_unmeasured_values_are_not_in_the_evidence() -> None:
    finding = {
        "id": "CPUContention:node-a:1",
        "rule": "CPUContention",
        "severity": "info",
        "message": "The job waits for a core.",
        "advice": "",
        "node": "node-a",
        "worker": None,
        "device": None,
        "tensor": None,
        "cause": None,
        "step": None,
        "time": [0, 1],
        "outcome": "ongoing",
        "evidence": {"wait_percent": 65.0, "times_usual_step": None},
    }
    [card] = map(str, finding_cards([finding]))
    assert "wait: 65%" in card
    assert "times usual step" not in card
