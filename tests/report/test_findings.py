"""Findings in the report."""

from sonde.report.findings import failure_details, finding_cards


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


def test_a_failed_job_shows_its_failing_line_and_marks_it_in_the_traceback() -> None:
    failed_at = {"file": "train.py", "line": 2, "function": "load", "code": "open(path)", "row": 1}
    exit_ = {
        "traceback": "Traceback\n  File\n    open(path)\nOSError",
        "worker": None,
        "failed_at": failed_at,
    }
    status = {"state": "failed", "exit": exit_, "output_tail": {"stdout": ["last"], "stderr": []}}
    page = "".join(map(str, failure_details(status)))
    assert "train.py:2, in load" in page
    assert '<b class="failing">  File\n</b><b class="failing">    open(path)\n</b>OSError' in page
    assert "Last lines of stdout" in page
    assert failure_details({**status, "state": "completed"}) == []
