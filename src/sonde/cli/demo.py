"""`sonde demo`: a small real job with planted faults, its dashboard and its report."""

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

from sonde.cli._command import Command, Options, add_json, say, say_json
from sonde.cli.dashboard.process import dashboard_beside
from sonde.cli.status import resources
from sonde.client.job import Job
from sonde.clock import SystemClock
from sonde.demo import training as demo_training
from sonde.demo.planted_faults import SAVE, inside, traces
from sonde.demo.training import FAULTS, Fault
from sonde.errors import JobNotFoundError, SondeError, UsageError
from sonde.formats import format_value
from sonde.results.live import Observer
from sonde.store.backends import Backend
from sonde.store.places import absolute_store, find_job, job_uri
from sonde.terminal.screen import show_until_over
from sonde.terminal.text import print_lines, status_lines

_NAME = "demo"
_SECONDS_WITH_TORCH = 35.0
_SCRIPT = Path(demo_training.__file__).with_name("pytorch_script.py")
_START_SECONDS = 20.0
_LEAST_SECONDS = 5.0  # in less the faults would last no longer than a few samples
_EDGE = 0.25  # of a fault's time, left out at both ends: what is slow to show is not measured


class Demo(Command):
    """Run a small real training job with planted faults, watch it, and show what was recorded.

    With PyTorch: about 35 seconds of a classifier with a dead layer and another that no optimizer
    owns, a loader that is slow for a while, and a few steps with a learning rate that is far too
    high. Without: 20 seconds of a perceptron in numpy, with a slow loader, a memory leak and a
    burst of disk writes.
    The dashboard runs beside it. On a terminal the live view is shown, q leaves it, and the
    dashboard stays until Ctrl-C.
    """

    example = "sonde demo"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--store", metavar="URI", help="where to record it (default: a temporary folder)"
        )
        parser.add_argument(
            "--seconds",
            metavar="N",
            type=float,
            help="about how long it trains (default: 35, without PyTorch 20; at least 5)",
        )
        parser.add_argument("--no-ui", action="store_true", help="no dashboard beside it")
        add_json(parser)

    def execute(self, options: Options) -> int:
        with_torch = _has_torch()
        if options.seconds is None:
            options.seconds = _SECONDS_WITH_TORCH if with_torch else demo_training.SECONDS
        if not _LEAST_SECONDS <= options.seconds < math.inf:
            raise UsageError(f"--seconds {options.seconds:g} is too short or endless: 5 or more.")
        store = absolute_store(options.store or tempfile.mkdtemp(prefix="sonde-demo-"))
        shown = None if options.json or options.no_ui else store
        with dashboard_beside(shown, say):
            name = _free_name(store)
            code, printed = _train(options, store, name, with_torch=with_torch)
            job = Job(find_job(name, store))
            if options.json:
                planted = _seen_inside(job) if with_torch else _seen(job, options)
                say_json({"job": job.name, "uri": job_uri(store, name), "planted": planted})
            else:
                _tell(job, printed)
                _tell_inside(job) if with_torch else _tell_curves(job, options)
                _tell_findings(job)
                _tell_more(options, job_uri(store, name), with_torch=with_torch)
        return 0 if code == 0 else 1


def _train(options: Options, store: str, name: str, *, with_torch: bool) -> tuple[int, list[str]]:
    """Trains under `sonde run`; its exit code, and what it printed."""
    training = _with_torch(options.seconds) if with_torch else _without(options.seconds)
    with (
        tempfile.TemporaryFile() as output,  # the view has the terminal for itself
        _started(store, name, training, output) as process,
    ):
        if not options.json:
            _accompany(process, store, name, options.seconds)
        code = process.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace").splitlines()


def _has_torch() -> bool:
    """Whether this Python can import PyTorch: one that is installed may still be broken."""
    if importlib.util.find_spec("torch") is None:
        return False
    tried = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False)
    return tried.returncode == 0


def _with_torch(seconds: float) -> list[str]:
    return ["--save", SAVE, "--", sys.executable, str(_SCRIPT), f"{seconds:g}"]


def _without(seconds: float) -> list[str]:
    return ["--", sys.executable, "-m", demo_training.__name__, f"{seconds:g}"]


def _free_name(store: str) -> str:
    for again in range(1, 1000):
        name = _NAME if again == 1 else f"{_NAME}-{again}"
        try:
            find_job(name, store)
        except JobNotFoundError:
            return name
    raise SondeError(f"{store} holds too many demos. Remove one: sonde rm {_NAME}")


def _started(
    store: str, name: str, training: list[str], output: "subprocess._FILE"
) -> "subprocess.Popen[bytes]":
    sonde = [sys.executable, "-m", "sonde", "run", "--quiet", "--store", store, "--name", name]
    return subprocess.Popen([*sonde, *training], stdin=subprocess.DEVNULL, stdout=output)


def _accompany(process: "subprocess.Popen[bytes]", store: str, name: str, seconds: float) -> None:
    """The live view, until the job is over or somebody has seen enough."""
    if not sys.stdout.isatty():
        say(f"training for about {seconds:g} s under: sonde run --store {store} --name {name}")
        return
    backend = _wait_for(process, store, name)
    if backend is None:
        return
    clock = SystemClock()
    observer = Observer(backend, clock)
    with contextlib.suppress(KeyboardInterrupt):
        now = show_until_over(observer.look, clock, backend.poll_seconds)
        if not now.is_over:
            say("The demo goes on to its end; Ctrl-C stops it.")


def _wait_for(process: "subprocess.Popen[bytes]", store: str, name: str) -> Backend | None:
    """The job, as soon as it is there."""
    clock = SystemClock()
    deadline = clock.seconds() + _START_SECONDS
    while clock.seconds() < deadline and process.poll() is None:
        try:
            return find_job(name, store)
        except JobNotFoundError:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
    return None


def _tell(job: Job, printed: list[str]) -> None:
    document = {**job.summary, "resources": resources(job)}
    print_lines(status_lines(document))
    say("")
    say("What it printed: " + (f"{printed[0]} … {printed[-1]}" if printed else "nothing"))
    say("")


def _tell_inside(job: Job) -> None:
    say("What was recorded from inside; the script has no word of Sonde:")
    for text in inside(job):
        say("")
        print_lines(Text(f"  {line}") for line in text.splitlines())
    say("")
    say("What was planted, and what the record says of it:")
    for trace in traces(job):
        print_lines(
            Text(f"  {line}") for line in (f"{trace.fault}: {trace.text}.", f"  {trace.asked}")
        )
    say("")


def _tell_curves(job: Job, options: Options) -> None:
    say("PyTorch cannot be imported here: this is what is seen from outside.")
    say("What was planted, and where the recorded curves show it:")
    for fault in FAULTS:
        print_lines(Text(f"  {line}") for line in _sentences(job, fault, options.seconds))
    say("")


def _tell_findings(job: Job) -> None:
    say("What rules said:")
    for one in job.findings():
        print_lines([Text(f"  {one.severity.value}  {one.finding.rule}: {one.finding.message}")])
    say("")


def _tell_more(options: Options, uri: str, *, with_torch: bool) -> None:
    say(f"More: sonde export {shlex.quote(uri)} --format csv --metric 'process_tree.*'")
    say(f"      sonde watch {shlex.quote(uri)} --once")
    say(f"      job = sonde.open_job({uri!r})")
    say("      job.system('process_tree.*').to_pandas()")
    if with_torch:
        say("      job.steps().statistics(), job.scalars(), job.tensors(), job.stages")
        say(f"Its script: {_SCRIPT}")
    say(f"Its report: {uri}/report/report.html")
    say(f"It is kept in {uri}")
    folder = shlex.quote(str(Path(uri).parent))  # a temporary one goes with its only job
    remove = f"sonde rm {shlex.quote(uri)} --yes" if options.store else f"rm -r {folder}"
    say(f"Remove it: {remove}")


def _seen_inside(job: Job) -> list[dict[str, object]]:
    return [trace.document for trace in traces(job)]


def _seen(job: Job, options: Options) -> list[dict[str, object]]:
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
    usual, during = _levels(job, fault, seconds)
    unit = job.system(fault.metric).series[0].metric.unit if usual is not None else ""
    when = f"{fault.start * seconds:.0f} s to {fault.end * seconds:.0f} s"
    levels = f"{format_value(usual, unit)} before, {format_value(during, unit)} then"
    return [f"{fault.name}, {when}: {fault.said}.", f"  {fault.metric}: {levels}"]


def _levels(job: Job, fault: Fault, seconds: float) -> tuple[float | None, float | None]:
    """The median of a fault's metric in the healthy start, and within the fault."""
    edge = _EDGE * (fault.end - fault.start)
    ranges = ((0.1, min(one.start for one in FAULTS)), (fault.start + edge, fault.end - edge))
    levels = []
    for start, end in ranges:
        found = job.system(fault.metric, start=start * seconds, end=end * seconds).by_device()
        values = [values for _, values in found.values()]
        known = np.concatenate(values) if values else np.empty(0, dtype=np.float32)
        known = known[~np.isnan(known)]
        levels.append(float(np.median(known)) if len(known) else None)
    return levels[0], levels[1]
