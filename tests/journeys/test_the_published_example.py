"""The published example of the old service as a real job."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.journeys.sonde_cli import PYTHON, Sonde

pytestmark = pytest.mark.timeout(300)

SCRIPT = Path(__file__).parent.parent.parent / "examples" / "cnn_on_cpu.py"
STEPS, LOADERS = 60, 4
RULES = "StepOutlier,Dataloader,LowGPUUtilization,MaxInitializationTime"
WINDOW = "operators:start_step=20,num_steps=2"


def test_the_report_contains_all_data_of_the_old_report(sonde: Sonde) -> None:
    local = ("--interval", "100ms", "--rules", RULES, "--profile", WINDOW, "--no-report")
    words = (PYTHON, str(SCRIPT), "--steps", str(STEPS))
    assert sonde.run("run", "--name", "job", *local, "--", *words).returncode == 0
    assert sonde.run("report", "job", "-o", "page.html").returncode == 0
    document = json.loads((sonde.folder / "page.json").read_text())
    page = (sonde.folder / "page.html").read_text()
    assert document["failed"] == {}
    _check_stages_and_resources(document, sonde)
    _check_steps(document)
    _check_data_loading(document)
    assert "aten::mkldnn_convolution" in {entry["name"] for entry in rows(document, "operators/0")}
    assert "Most expensive CPU operator: " in page
    rules = {entry["rule"]: entry for entry in document["rules"]}
    assert set(rules) == {*RULES.split(",")}
    assert rules["StepOutlier"]["datapoints"] >= STEPS
    assert rules["LowGPUUtilization"]["status"] == "NotApplicable"
    assert not {"gpu_usage", "gpu_balance", "gpu_memory"} & {*document["tables"]}


def rows(document: dict[str, Any], table: str) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = document["tables"][table]["rows"]
    return result


def _check_stages_and_resources(document: dict[str, Any], sonde: Sonde) -> None:
    facts = {entry["name"]: entry["value"] for entry in rows(document, "job_details")}
    assert len(facts) == 13
    pieces = ("initialization", "training_loop", "finalization")
    total = sum(facts[f"{entry}_duration"] for entry in pieces)
    assert total == pytest.approx(facts["job_duration"], rel=1e-3)
    machine = {entry["metric"]: entry for entry in rows(document, "resources")}
    _, samples = sonde.samples("cpu.utilization_percent")
    assert machine["Total CPU"]["maximum"] == pytest.approx(max(samples))
    assert {"CPU memory", "I/O wait"} <= set(machine)


def _check_steps(document: dict[str, Any]) -> None:
    statistics = {entry["mode"]: entry for entry in rows(document, "step_statistics")}
    train = statistics["train"]
    # except profiled steps: operators 1, data loading 1, Python up to 30
    assert STEPS - 32 <= train["steps"] <= STEPS
    assert statistics["eval"]["steps"] > 0
    ordered = [train[name] for name in ("minimum", "p50", "p95", "p99", "maximum")]
    assert ordered == sorted(ordered)
    phases = {entry["phase"]: entry for entry in rows(document, "phase_time")}
    assert {"forward", "backward", "optimizer", "data wait"} <= set(phases)
    means = sum(entry["mean"] for entry in phases.values())
    assert means == pytest.approx(train["mean"], rel=0.01)
    assert np.isclose(sum(entry["percent"] for entry in phases.values()), 100, atol=0.1)
    assert "train" in document["notes"]["mode_time"]
    assert "eval" in document["notes"]["mode_time"]


def _check_data_loading(document: dict[str, Any]) -> None:
    loader = next(row for row in rows(document, "loaders") if row["mode"] == "train")
    assert (loader["processes"], loader["pinned"], loader["batch_size"]) == (LOADERS, "no", 32)
    assert document["notes"]["loading_times"].startswith("Median time to load a batch: ")
