"""`sonde demo`: a small training job with known faults, its dashboard and its report."""

import argparse
import contextlib
import importlib.util
import math
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.text import Text

from sonde.cli._command import Command, Options, add_json, print_json, print_line
from sonde.cli.dashboard.process import dashboard_process
from sonde.cli.status import resources
from sonde.client.job import Job
from sonde.clock import SystemClock
from sonde.demo import training as demo_training
from sonde.demo.planted_faults import SAVE, inside, traces
from sonde.demo.training import FAULTS, Fault
from sonde.errors import JobNotFoundError, SondeError, UsageError
from sonde.formats import format_duration, format_value
from sonde.results.live import Observer
from sonde.store.backends import Backend
from sonde.store.places import absolute_store, find_job, job_uri
from sonde.terminal.output import print_lines
from sonde.terminal.screen import show_until_over
from sonde.terminal.status import status_lines

_NAME = "demo"
_SECONDS_WITH_TORCH = 35.0
_SCRIPT = Path(demo_training.__file__).with_name("pytorch_script.py")
_START_SECONDS = 20.0
_MIN_SECONDS = 5.0  # in less, the faults would last only a few samples
_EDGE = 0.25  # share of a fault's duration that is skipped at both ends


class Demo(Command):
    """Run a small training job with known faults and show what Sonde records.

    With PyTorch: a classifier that trains for about 35 seconds with a dead layer, a layer missing
    from the optimizer, a temporarily slow data loader, and a few steps with a learning rate that
    is much too high. Without PyTorch: a NumPy perceptron that trains for 20 seconds with a slow
    data loader, a memory leak and a burst of disk writes.
    The dashboard runs at the same time. On a terminal, the live view is shown (q closes it) and
    the dashboard stays available until Ctrl-C.
    """

    example = "sonde demo"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--store", metavar="URI", help="the store to record to (default: a temporary folder)"
        )
        parser.add_argument(
            "--seconds",
            metavar="N",
            type=float,
            help="approximate training time (default: 35, without PyTorch 20; minimum: 5)",
        )
        parser.add_argument("--no-ui", action="store_true", help="do not start the dashboard")
        add_json(parser)

    def execute(self, options: Options) -> int:
        with_torch = _has_torch()
        if options.seconds is None:
            options.seconds = _SECONDS_WITH_TORCH if with_torch else demo_training.SECONDS
        if not _MIN_SECONDS <= options.seconds < math.inf:
            raise UsageError(f"--seconds {options.seconds:g} is out of range. Use 5 or more.")
        store = absolute_store(options.store or tempfile.mkdtemp(prefix="sonde-demo-"))
        shown = None if options.json or options.no_ui else store
        with dashboard_process(shown, print_line):
            name = _free_name(store)
            code, printed = _train(options, store, name, with_torch=with_torch)
            job = Job(find_job(name, store))
            if options.json:
                planted = _measured_inside(job) if with_torch else _measured_outside(job, options)
                print_json({"job": job.name, "uri": job_uri(store, name), "planted": planted})
            else:
                _print_status(job, printed)
                _print_inside(job) if with_torch else _print_curves(job, options)
                _print_findings(job)
                _print_next_steps(options, job_uri(store, name), with_torch=with_torch)
        return 0 if code == 0 else 1


def _train(options: Options, store: str, name: str, *, with_torch: bool) -> tuple[int, list[str]]:
    """Train under `sonde run`; return its exit code and output lines."""
    training = _with_torch(options.seconds) if with_torch else _without(options.seconds)
    with (
        tempfile.TemporaryFile() as output,  # the live view uses the terminal
        _start(store, name, training, output) as process,
    ):
        if not options.json:
            _show_live(process, store, name, options.seconds)
        code = process.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace").splitlines()


def _has_torch() -> bool:
    """Whether this Python can import PyTorch: an installed one may still be broken."""
    if importlib.util.find_spec("torch") is None:
        return False
    imported = subprocess.run(
        [sys.executable, "-c", "import torch"], capture_output=True, check=False
    )
    return imported.returncode == 0


def _with_torch(seconds: float) -> list[str]:
    return ["--save", SAVE, "--", sys.executable, str(_SCRIPT), f"{seconds:g}"]


def _without(seconds: float) -> list[str]:
    return ["--", sys.executable, "-m", demo_training.__name__, f"{seconds:g}"]


def _free_name(store: str) -> str:
    for number in range(1, 1000):
        name = _NAME if number == 1 else f"{_NAME}-{number}"
        try:
            find_job(name, store)
        except JobNotFoundError:
            return name
    raise SondeError(f"Too many demo jobs in {store}. Remove one: sonde rm {_NAME}")


def _start(
    store: str, name: str, training: list[str], output: "subprocess._FILE"
) -> "subprocess.Popen[bytes]":
    sonde = [sys.executable, "-m", "sonde", "run", "--quiet", "--store", store, "--name", name]
    return subprocess.Popen([*sonde, *training], stdin=subprocess.DEVNULL, stdout=output)


def _show_live(process: "subprocess.Popen[bytes]", store: str, name: str, seconds: float) -> None:
    """Show the live view until the job ends or the user closes it."""
    if not sys.stdout.isatty():
        command = f"sonde run --store {store} --name {name}"
        print_line(f"Training for about {format_duration(seconds)}: {command}")
        return
    backend = _wait_for(process, store, name)
    if backend is None:
        return
    clock = SystemClock()
    observer = Observer(backend, clock)
    with contextlib.suppress(KeyboardInterrupt):
        now = show_until_over(observer.poll, clock, backend.poll_seconds)
        if not now.is_over:
            print_line("The demo continues in the background. Ctrl-C stops it.")


def _wait_for(process: "subprocess.Popen[bytes]", store: str, name: str) -> Backend | None:
    """Wait for the job to appear; None if the process exits first."""
    clock = SystemClock()
    deadline = clock.seconds() + _START_SECONDS
    while clock.seconds() < deadline and process.poll() is None:
        try:
            return find_job(name, store)
        except JobNotFoundError:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
    return None


def _print_status(job: Job, printed: list[str]) -> None:
    document = {**job.summary, "resources": resources(job)}
    print_lines(status_lines(document))
    print_line("")
    print_line("Script output: " + (f"{printed[0]} … {printed[-1]}" if printed else "nothing"))
    print_line("")


def _print_inside(job: Job) -> None:
    print_line("Recorded inside the training process, without changes to the script:")
    for text in inside(job):
        print_line("")
        print_lines(Text(f"  {line}") for line in text.splitlines())
    print_line("")
    print_line("Planted faults and what was recorded:")
    for trace in traces(job):
        print_lines(
            Text(f"  {line}") for line in (f"{trace.fault}: {trace.text}.", f"  {trace.query}")
        )
    print_line("")


def _print_curves(job: Job, options: Options) -> None:
    print_line("PyTorch cannot be imported, so only system metrics were recorded.")
    print_line("Planted faults and the metrics that show them:")
    for fault in FAULTS:
        print_lines(Text(f"  {line}") for line in _sentences(job, fault, options.seconds))
    print_line("")


def _print_findings(job: Job) -> None:
    print_line("Findings:")
    for episode in job.findings():
        print_lines(
            [Text(f"  {episode.severity.value}  {episode.finding.rule}: {episode.finding.message}")]
        )
    print_line("")


def _print_next_steps(options: Options, uri: str, *, with_torch: bool) -> None:
    print_line(f"More: sonde export {shlex.quote(uri)} --format csv --metric 'process_tree.*'")
    print_line(f"      sonde watch {shlex.quote(uri)} --once")
    print_line(f"      job = sonde.open_job({uri!r})")
    print_line("      job.system('process_tree.*').to_pandas()")
    if with_torch:
        print_line("      job.steps().statistics(), job.scalars(), job.tensors(), job.stages")
        print_line(f"Script: {_SCRIPT}")
    print_line(f"Report: {uri}/report/report.html")
    print_line(f"Job folder: {uri}")
    folder = shlex.quote(str(Path(uri).parent))  # remove the temporary store with its only job
    remove = f"sonde rm {shlex.quote(uri)} --yes" if options.store else f"rm -r {folder}"
    print_line(f"To remove it: {remove}")


def _measured_inside(job: Job) -> list[dict[str, object]]:
    return [trace.document for trace in traces(job)]


def _measured_outside(job: Job, options: Options) -> list[dict[str, object]]:
    return [
        {
            "fault": fault.name,
            "metric": fault.metric,
            "start_seconds": fault.start * options.seconds,
            "end_seconds": fault.end * options.seconds,
            **dict(zip(("usual", "during"), _levels(job, fault, options.seconds), strict=True)),
        }
        for fault in FAULTS
    ]


def _sentences(job: Job, fault: Fault, seconds: float) -> list[str]:
    before, during = _levels(job, fault, seconds)
    unit = job.system(fault.metric).series[0].metric.unit if before is not None else ""
    when = " to ".join(
        format_duration(round(share * seconds)) for share in (fault.start, fault.end)
    )
    levels = f"{format_value(before, unit)} before, {format_value(during, unit)} during the fault"
    return [f"{fault.name}, {when}: {fault.description}.", f"  {fault.metric}: {levels}"]


def _levels(job: Job, fault: Fault, seconds: float) -> tuple[float | None, float | None]:
    """The median of a fault's metric before all faults, and during the fault."""
    edge = _EDGE * (fault.end - fault.start)
    ranges = (
        (0.1, min(other_fault.start for other_fault in FAULTS)),
        (fault.start + edge, fault.end - edge),
    )
    levels = []
    for start, end in ranges:
        by_device = job.system(fault.metric, start=start * seconds, end=end * seconds).by_device()
        values = [values for _, values in by_device.values()]
        measured = np.concatenate(values) if values else np.empty(0, dtype=np.float32)
        measured = measured[~np.isnan(measured)]
        levels.append(float(np.median(measured)) if len(measured) else None)
    return levels[0], levels[1]
