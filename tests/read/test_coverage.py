"""Whether training inside a job was recorded, and the explanation if it was not."""

import zlib

import pytest

from sonde.client.reports import report_of
from sonde.clock import NANOSECONDS
from sonde.read.coverage import coverage_from
from sonde.records.notice import INSIDE, Notice, NoticeKind
from sonde.store.layout import frameworks_folder
from tests.fakes.job import FakeJob


def test_training_with_recorded_steps_is_covered() -> None:
    coverage = coverage_from({"torch": "2.13.0", "sklearn": "1.9.1"}, {"train": 20})
    assert (coverage.framework, coverage.inside, coverage.why_not) == ("torch 2.13", True, None)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("tensorflow", "TensorFlow"),
        ("jax", "JAX"),
        ("catboost", "CatBoost"),
        ("sklearn", "scikit-learn"),
    ],
)
def test_an_unsupported_framework_is_named_with_advice(module: str, name: str) -> None:
    coverage = coverage_from({module: "2.15.1"}, {})
    assert (coverage.framework, coverage.inside) == (f"{module} 2.15", False)
    assert coverage.why_not is not None
    assert coverage.why_not.startswith(f"This job uses {name} 2.15, which Sonde cannot instrument.")
    assert "sonde.step()" in coverage.why_not
    assert "sonde.log(loss=...)" in coverage.why_not


def test_steps_reported_by_the_script_count_as_recorded() -> None:
    coverage = coverage_from({"jax": "0.6.0"}, {"train": 3})
    assert (coverage.framework, coverage.inside, coverage.why_not) == ("jax 0.6", True, None)


def test_pytorch_without_training_steps_is_reported_after_a_while() -> None:
    coverage = coverage_from({"torch": "2.13.0"}, {"eval": 5})
    assert coverage.why_not is not None
    assert "ran no optimizer step and no backward pass" in coverage.why_not
    assert coverage_from({"torch": "2.13.0"}, {}, running_ns=10 * NANOSECONDS).why_not is None
    assert coverage_from({"torch": "2.13.0"}, {}, running_ns=100 * NANOSECONDS).why_not is not None


def test_a_job_that_failed_before_its_first_step_gets_no_advice_on_recording_steps() -> None:
    coverage = coverage_from({"torch": "2.13.0"}, {}, has_failed=True)
    assert coverage.why_not == "The job failed before its first training step."
    unsupported = coverage_from({"mxnet": "1.9", "catboost": "1.2"}, {}, has_failed=True)
    assert "sonde.step()" in (unsupported.why_not or "")


def test_boosted_trees_are_covered_and_named_even_if_scikit_learn_is_imported() -> None:
    frameworks = {"xgboost": "3.2.0", "sklearn": "1.9.1"}
    coverage = coverage_from(frameworks, {"train": 20})
    assert (coverage.framework, coverage.inside, coverage.why_not) == ("xgboost 3.2", True, None)


def test_xgboost_without_rounds_is_reported_after_a_while() -> None:
    coverage = coverage_from({"xgboost": "3.2.0", "sklearn": "1.9.1"}, {})
    assert coverage.why_not is not None
    assert coverage.why_not.startswith("This job uses XGBoost 3.2, but ran no boosting round")
    assert coverage_from({"xgboost": "3.2.0"}, {}, running_ns=10 * NANOSECONDS).why_not is None


def test_a_python_option_that_prevents_the_hook_is_named() -> None:
    coverage = coverage_from({}, {}, ["python -I isolates it from its environment"])
    assert coverage.why_not == "python -I isolates it from its environment."


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (NoticeKind.LOST_STEPS, "process 7: everything"),
        (NoticeKind.LOST, "process 7: training steps"),  # as version 0.1 recorded it
    ],
)
def test_steps_that_were_lost_are_not_reported_as_steps_that_never_ran(
    kind: NoticeKind, what: str
) -> None:
    job = FakeJob().record({"cpu.user_percent": [1, 2]})
    job.backend.write(f"{frameworks_folder(job.node, 1)}/torch-2.13.0", b"")
    now_ns = job.clock.now_ns()
    loss = Notice(kind, what, "no space left on device", now_ns, now_ns + 1)
    job.writer.report_lost(loss)
    job.flush().end()

    why_not = job.job().summary["seen"]["why_not"]

    assert "no optimizer step" not in why_not
    assert why_not.startswith("Could not record training steps: no space left on device")


def test_a_worker_whose_end_is_missing_is_not_reported_as_one_without_steps() -> None:
    job = FakeJob()
    job.worker(framework="torch")
    summary = job.end().job().summary
    assert summary["seen"]["why_not"].startswith(
        "Worker 0 began to record, but its data has not arrived."
    )


def test_a_hook_that_failed_to_load_is_reported_with_its_reason() -> None:
    job = FakeJob()
    reason = b"No module named 'sonde.guard'"
    folder = frameworks_folder(job.node, 1)
    job.backend.write(f"{folder}/torch-2.13.0", b"")
    job.backend.write(f"{folder}/unrecorded-{zlib.crc32(reason):08x}", reason)

    summary = job.end().job().summary

    text = f"Sonde's hook could not be loaded into the process: {reason.decode()}"
    assert summary["seen"]["why_not"] == f"{text}."
    assert {"what": INSIDE, "reason": text} in summary["not_collected"]
    assert summary["lost"] == []


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (NoticeKind.HOOK_NOT_LOADED, "processes"),
        (NoticeKind.NOT_COLLECTED, INSIDE),  # as version 0.1 recorded it
    ],
)
def test_an_option_of_the_interpreter_is_reported(kind: NoticeKind, what: str) -> None:
    job = FakeJob()
    job.writer.notice(kind, what, "python -I isolates it from its environment")
    summary = job.flush().end().job().summary
    assert summary["seen"]["why_not"] == "python -I isolates it from its environment."
    assert [item["what"] for item in summary["not_collected"]] == [what]


def test_a_damaged_reason_of_a_failed_hook_is_reported() -> None:
    job = FakeJob()
    job.backend.write(f"{frameworks_folder(job.node, 1)}/unrecorded-00000001", b"No mod")

    summary = job.end().job().summary

    assert "could not be loaded" in summary["seen"]["why_not"]
    assert "unrecorded-00000001 is damaged" in summary["lost"][0]["what"]


def test_a_program_without_a_framework_gets_no_explanation() -> None:
    coverage = coverage_from({}, {})
    assert (coverage.framework, coverage.inside, coverage.why_not) == (None, False, None)


def test_status_names_the_framework_and_explains_missing_steps_first() -> None:
    job = FakeJob()
    job.backend.write(f"{frameworks_folder(job.node, 1)}/catboost-1.2.0", b"")
    summary = job.end().job().summary
    assert summary["seen"]["framework"] == "catboost 1.2"
    assert summary["seen"]["inside"] is False
    assert repr(summary).startswith("Training not recorded: This job uses CatBoost 1.2")


def test_the_report_explains_missing_steps_first() -> None:
    job = FakeJob()
    job.backend.write(f"{frameworks_folder(job.node, 1)}/catboost-1.2.0", b"")
    report = report_of(job.end().backend, job.clock, runs_rules=True)
    text = report.html[report.html.index("Verdict</h2>") :]
    assert text.index("Training not recorded: This job uses CatBoost") < text.index("completed")
    assert report.document["seen"]["framework"] == "catboost 1.2"
    assert report.document["coverage"]["lacking"] > 0


def test_damaged_events_are_named_instead_of_a_job_without_steps() -> None:
    job = FakeJob()
    worker = job.worker(framework="torch")
    for step in range(6):
        worker.step(step, {"forward": 0.5}).flush()
    job.beat().close()
    for key in [key for key in job.stored() if "/events/" in key]:
        job.backend.write(key, b"")
    coverage = job.job().summary["seen"]
    assert not coverage["inside"]
    assert coverage["why_not"].startswith("The recorded steps are damaged: ")
    assert "no optimizer step" not in coverage["why_not"]
