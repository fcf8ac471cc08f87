"""Predicted and measured speed-ups of planted inefficiencies on a GPU, as one table.

`PYTHONPATH=src python3 -m benchmarks.advice_h200 FOLDER [--cases TEXT …] [--limit SECONDS]` trains
each program of `advice_cases` twice under `sonde run`: as it is, and with the remedy that the
advice names. Programs start early to import torch, but train one at a time. Results and recorded
jobs are saved to the folder after each case. `--evaluate` runs today's rules on saved jobs, on any
machine that has the dependencies of `sonde`.

The table has not been measured yet: `benchmarks/results` has no advice_h200.json.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.advice_cases import CASES, Case, Values
from benchmarks.report import Row, describe_environment, table

_TOGETHER = 3  # one trains, one imports torch, and one ends
_JOB_SECONDS = 150.0  # at most
_CASE_SECONDS = 25.0  # not started with less time left
_ARCHIVE_BYTES = 14 << 20
_NEGLIGIBLE = 1.03
_TOY = ("perceptron two workers", "convolutional checkpoints", "perceptron tuned")


@dataclass
class Result:
    """What a case was advised and what the advice brought."""

    name: str
    slow_speed: float = 0.0  # samples per second
    remedied_speed: float = 0.0
    items: list[dict[str, Any]] = field(default_factory=list)  # the advice on the slow job
    settings: dict[str, object] = field(default_factory=dict)  # of the remedied job
    remedied_items: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""  # of training
    unadvised: str = ""  # why the rules failed

    @property
    def measured(self) -> float:
        """The speed-up."""
        return self.remedied_speed / self.slow_speed if self.slow_speed else 0.0


def main() -> int:
    """Run the selected cases and save the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.advice_h200", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cases", nargs="*", default=[], metavar="TEXT", help="parts of names")
    parser.add_argument("--limit", type=float, default=460.0, help="seconds; 460 by default")
    parser.add_argument("--seconds", type=float, default=4.0, help="measured per job")
    parser.add_argument("--toy", action="store_true", help="small models, as a functional test")
    parser.add_argument("--evaluate", action="store_true", help="of saved jobs, with today's rules")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.evaluate:
        return _save(options.folder, _evaluated(options.folder))
    chosen = [
        case
        for case in CASES
        if (case.name in _TOY if options.toy else True)
        and (not options.cases or any(text in case.name for text in options.cases))
    ]
    common = {"seconds": options.seconds, "is_toy": options.toy}
    if options.toy:
        common["precision"] = "float32"
    with tempfile.TemporaryDirectory() as scratch:
        Suite(options.folder, Path(scratch), common, options.limit).run(chosen)
    return _save(options.folder, _load(options.folder))


class Suite:
    """Runs cases, as many as the time allows."""

    def __init__(self, folder: Path, scratch: Path, common: Values, limit: float) -> None:
        self._folder, self._scratch, self._common = folder, scratch, common
        self._end = time.monotonic() + limit
        self._lock = threading.Lock()
        self._results: list[Result] = []
        self._archive = 0

    def run(self, cases: Sequence[Case]) -> None:
        """Train the slow programs and their remedied ones, several at a time."""
        with ThreadPoolExecutor(_TOGETHER) as pool:
            list(pool.map(self._run_case, cases))

    def _run_case(self, case: Case) -> None:
        if time.monotonic() + _CASE_SECONDS > self._end:
            return
        result = Result(case.name)
        try:
            self._measure(case, result)
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            result.error = f"{type(error).__name__}: {error}"[-2000:]
        with self._lock:
            self._results.append(result)
            _store(self._folder, self._results)
            print(f"{case.name}: {_line(result)}", file=sys.stderr, flush=True)

    def _measure(self, case: Case, result: Result) -> None:
        slow = f"{case.name} slow".replace(" ", "-")
        result.slow_speed = self._train(case, slow, case.slow)
        result.items = _items(self._scratch / slow, result)
        if case.is_tuned:
            return
        remedy = _remedy(case, result.items)
        result.settings = dict(case.with_remedy(str(remedy["title"]) if remedy else ""))
        remedied = f"{case.name} remedied".replace(" ", "-")
        result.remedied_speed = self._train(case, remedied, result.settings)
        result.remedied_items = _items(self._scratch / remedied, result)

    def _train(self, case: Case, name: str, settings: Values) -> float:
        """Record a job; return its samples per second."""
        output = self._scratch / f"{name}.json"
        values = {**settings, **self._common, "lock": self._scratch / "lock", "result": output}
        words = [f"{key}={value}" for key, value in values.items()]
        training = (sys.executable, "-m", "benchmarks.advised_gpu_training", case.model, *words)
        sonde = (sys.executable, "-m", "sonde", "run", "--quiet", "--no-report", "--no-rules")
        command = (*sonde, "--store", str(self._scratch), "--name", name, "--", *training)
        code, errors = _run(command)
        if code or not output.exists():
            raise ValueError(f"{name} failed with exit code {code}: {errors}")
        self._keep(self._scratch / name)
        speed: float = json.loads(output.read_text(encoding="utf-8"))["samples_per_second"]
        return speed

    def _keep(self, job: Path) -> None:
        """Add a recorded job to the archives."""
        with self._lock:
            archive = self._folder / f"jobs-{self._archive}.tar"
            if archive.exists() and archive.stat().st_size > _ARCHIVE_BYTES:
                self._archive += 1
                archive = self._folder / f"jobs-{self._archive}.tar"
            with tarfile.open(archive, "a") as file:
                file.add(job, arcname=job.name)


def _run(command: Sequence[str]) -> tuple[int, str]:
    """Run a command for a limited time; return its exit code and its errors."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        _, errors = process.communicate(timeout=_JOB_SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()  # `sonde run` ends the training
        _, errors = process.communicate()
    return process.returncode, errors


def _items(job: Path, result: Result) -> list[dict[str, Any]]:
    """The items of the advice on a job; none if rules cannot run on this machine."""
    command = (sys.executable, "-m", "sonde", "advise", str(job), "--json")
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_JOB_SECONDS, check=False
    )
    if done.returncode:
        result.unadvised = done.stderr[-500:]
        return []
    items: list[dict[str, Any]] = json.loads(done.stdout)["advice"]["items"]
    return items


def _remedy(case: Case, items: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The remedy that the case tests, from the first item that names it."""
    if case.is_tuned:
        return None
    for item in items:
        for remedy in item["remedies"]:
            if re.search(case.title, remedy["title"]):
                return dict(remedy)
    return None


def _predicted(case: Case, items: Sequence[dict[str, Any]]) -> float | None:
    remedy = _remedy(case, items)
    return remedy["gain"]["speedup"] if remedy and remedy["gain"] else None


def _evaluated(folder: Path) -> list[Result]:
    """Saved results with the advice of today's rules on the saved jobs."""
    results = _load(folder)
    with tempfile.TemporaryDirectory() as scratch:
        for archive in sorted(folder.glob("jobs-*.tar")):
            with tarfile.open(archive) as file:
                file.extractall(scratch, filter="data")
        for result in results:
            result.unadvised = ""
            name = result.name.replace(" ", "-")
            if (slow := Path(scratch) / f"{name}-slow").exists():
                result.items = _items(slow, result)
            if (remedied := Path(scratch) / f"{name}-remedied").exists():
                result.remedied_items = _items(remedied, result)
    _store(folder, results)
    return results


def _store(folder: Path, results: Sequence[Result]) -> None:
    text = json.dumps([asdict(result) for result in results], indent=1, ensure_ascii=False)
    (folder / "cases.json").write_text(text + "\n", encoding="utf-8")


def _load(folder: Path) -> list[Result]:
    path = folder / "cases.json"
    saved = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return [Result(**each) for each in saved]


def _save(folder: Path, results: Sequence[Result]) -> int:
    """Write and print the table; return 1 if a bar is missed."""
    rows = list(rows_of(results))
    facts = describe_environment()
    document = {"benchmark": "advice_h200", **facts, "rows": [asdict(row) for row in rows]}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (folder / "advice_h200.json").write_text(text + "\n", encoding="utf-8")
    print(table(rows))
    return int(any(row.is_met is False for row in rows))


def rows_of(results: Sequence[Result]) -> Iterator[Row]:
    """The bars, and predicted and measured speed-up of each case."""
    cases = {case.name: case for case in CASES}
    tuned = [result for result in results if cases[result.name].is_tuned]
    planted = [result for result in results if not cases[result.name].is_tuned]
    measured = [result for result in planted if result.measured]
    firsts = [_first_rule(result) in cases[result.name].rules for result in planted]
    ratios = {
        result.name: predicted / result.measured
        for result in measured
        if (predicted := _predicted(cases[result.name], result.items)) is not None
    }
    if firsts:
        share = 100 * sum(firsts) / len(firsts)
        yield Row("right finding first", share, "%", "≥ 90%", share >= 90)
    if ratios:
        error = 100 * statistics.median(abs(ratio - 1) for ratio in ratios.values())
        yield Row("median error of predictions", error, "%", "≤ 15%", error <= 15)
        worst = max(ratios, key=lambda name: max(ratios[name], 1 / ratios[name]))
        factor = max(ratios[worst], 1 / ratios[worst])
        yield Row("worst prediction", factor, "×", "≤ 2×", factor <= 2, note=worst)
    if measured:
        slowest = min(measured, key=lambda result: result.measured)
        is_faster = slowest.measured > 1 / _NEGLIGIBLE
        yield Row("smallest gain", slowest.measured, "×", "≥ 1×", is_faster, note=slowest.name)
    advised = [result.name for result in tuned if result.items]
    if tuned:
        note = ", ".join(advised)
        yield Row("tuned programs with advice", len(advised), "", "0", not advised, note=note)
    for result in results:
        yield _row(cases[result.name], result)


def _row(case: Case, result: Result) -> Row:
    predicted = _predicted(case, result.items)
    return Row(
        f"{result.name}: measured speed-up",
        result.measured,
        "×",
        alternative="predicted",
        alternative_measured=predicted,
        note=result.error or result.unadvised or f"first: {_first_rule(result) or 'no advice'}",
    )


def _first_rule(result: Result) -> str:
    return str(result.items[0]["rule"]) if result.items else ""


def _line(result: Result) -> str:
    rules = ", ".join(str(item["rule"]) for item in result.items) or "no advice"
    return result.error or f"{result.slow_speed:.4g} samples/s, {result.measured:.2f}×; {rules}"


if __name__ == "__main__":
    sys.exit(main())
