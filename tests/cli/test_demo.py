"""The demo shows its planted faults."""

import json

from sonde.demo.planted_faults import traces
from tests.fakes.job import FakeJob


def trained(rate_at: dict[int, float], wait_at: dict[int, float]) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for step in range(20):
        rate = rate_at.get(step, 0.5)
        if step % 4 == 0 or rate != rate_at.get(step - 1, 0.5):  # when it changes, and periodically
            worker.scalar("learning_rate/0", step, rate)
        worker.scalar("loss", step, 8.0 if step - 1 in rate_at else 1.0)
        worker.step(step, {"data_wait": wait_at.get(step, 0.125), "forward": 1.0})
    worker.flush()
    return job


def test_each_planted_fault_is_found_where_it_is() -> None:
    job = trained(rate_at={13: 4.0, 14: 4.0}, wait_at=dict.fromkeys(range(4, 8), 2.0))
    hook = job.worker(restart=1).observation("unowned-parameter", "head.bias", 6)
    for name, silent in (("dead_output_0", 8), ("relu_output_0", 1)):
        detail = json.dumps({"inactive": {"0.1": silent}, "samples": 4})
        hook.observation("unit-activity", name, 6, detail, value=8.0)
    hook.flush()
    dead, forgotten, slow, spike = (trace.document for trace in traces(job.job()))
    assert dead["outputs"] == ["dead_output_0"]
    assert forgotten["parameters"] == ["head.bias"]
    assert [slow[name] for name in ("first_step", "last_step")] == [4, 7]
    assert [slow[name] for name in ("usual", "during")] == [0.125, 2.0]
    assert [spike[name] for name in ("first_step", "last_step")] == [13, 14]
    assert [spike[name] for name in ("usual", "during")] == [1.0, 8.0]


def test_fault_without_a_trace_is_reported_as_not_seen() -> None:
    assert [trace.text for trace in traces(trained({}, {}).job())] == ["not found"] * 4
