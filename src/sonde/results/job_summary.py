"""The summary of a job for lists of jobs.

Reading a job takes milliseconds, which is too slow for sorting thousands of them. So the summary
of a finished job is stored in its folder, with a fingerprint of what can still change it.
"""

import itertools
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.clock import NANOSECONDS
from sonde.errors import StoreError
from sonde.read.documents import read_document
from sonde.read.findings import read_evaluations
from sonde.read.jobs import JobFacts, NodeAttempt, has_begun, read_job
from sonde.read.open_job import OpenJob
from sonde.read.opening import read_guarded
from sonde.read.scalars import Losses, Matching, ScalarQuestion, read_scalars
from sonde.read.status import status_document
from sonde.read.steps import read_steps
from sonde.read.training import reported_steps, steps_done
from sonde.records.job import JobInfo, JobState
from sonde.records.job_summary import JobSummary, LaunchFacts, ListedJob, Outcome, Sparkline
from sonde.records.step import Mode
from sonde.results.rule_standing import severity_counts
from sonde.results.rule_verdict import verdict
from sonde.results.verdict import reason
from sonde.store import layout
from sonde.store.annotations import read_annotations
from sonde.store.backends import Backend
from sonde.store.facts import encode_facts
from sonde.store.places import holds_job
from sonde.store.tables import texts_of, to_numpy

_SPARKLINE_POINTS = 60
_MAX_METRICS = 100
_EVALUATIONS = layout.rules_key("evaluations")
_WRAPPERS = ("torchrun", "accelerate", "deepspeed", "horovodrun", "mpirun", "srun", "launch", "run")


def recorded_job(backend: Backend, name: str) -> ListedJob | None:
    """A finished job with its recorded summary; None if there is none, or it is outdated."""
    summary = _recorded_summary(backend)
    if summary is None:
        return None
    return ListedJob(name, summary, read_annotations(backend))


def read_listed_job(
    backend: Backend, name: str, now_ns: int, *, is_complete: bool
) -> tuple[ListedJob, ...]:
    """A job for a list; empty if it was just deleted or never began."""
    summary = read_summary(backend, now_ns, is_complete=is_complete)
    return (ListedJob(name, summary, read_annotations(backend)),) if summary else ()


def _recorded_summary(backend: Backend) -> JobSummary | None:
    """The stored summary of a finished job; None if there is none, or it is outdated."""
    summary = read_document(JobSummary, backend, layout.SUMMARY, [])
    if summary is None or summary.fingerprint != _fingerprint(backend):
        return None
    if read_document(JobInfo, backend, layout.JOB, []) is None:  # damaged since
        return None
    return summary


def read_summary(backend: Backend, now_ns: int, *, is_complete: bool) -> JobSummary | None:
    """The summary of a job; that of a finished job is stored for the next reader.

    Args:
        backend: The job.
        now_ns: The current time.
        is_complete: Whether to read metrics and the curve, which takes longest.

    Returns:
        The summary; None if the job was just deleted or never began.
    """
    recorded = _recorded_summary(backend)
    if recorded is not None:
        return recorded
    fingerprint = _fingerprint(backend)  # before reading, in case the job changes meanwhile
    facts = read_job(backend, now_ns)
    if facts.info is None and not holds_job(backend):
        return None
    if not has_begun(backend, facts.check_readable()):
        return None
    summary = read_guarded(backend, lambda: _read(backend, facts, now_ns))
    if not is_complete:
        return summary
    complete = read_guarded(backend, lambda: _completed(summary, backend, facts))
    if _is_final(facts):
        _store(backend, replace(complete, fingerprint=fingerprint))
    return complete


def _is_final(facts: JobFacts) -> bool:
    """Whether only a new attempt or new results of rules can change the job."""
    is_known = facts.state.is_over and facts.state is not JobState.LOST
    return is_known and not facts.damages and all(item.exit for item in facts.latest)


def _store(backend: Backend, summary: JobSummary) -> None:
    try:
        backend.write(layout.SUMMARY, encode_facts(summary, layout.SUMMARY))
    except StoreError:  # a store that cannot be written: the summary is read again the next time
        return


def _fingerprint(backend: Backend) -> str:
    """A text that changes with the attempts of a job and the results of its rules."""
    attempts = [
        f"{node}/{name}"
        for node in backend.folders(layout.NODES)
        for name in backend.folders(layout.node_folder(node))
        if name.startswith("attempt-")
    ]
    results = [
        f"{entry.size}-{entry.modified_ns}"
        for entry in backend.entries(layout.RULES_FOLDER)
        if entry.key == _EVALUATIONS
    ]
    return ",".join((*attempts, *results))


def _read(backend: Backend, facts: JobFacts, now_ns: int) -> JobSummary:
    status = status_document(facts, now_ns)
    evaluations = read_evaluations(backend, [])
    episodes = [episode for rule in evaluations for episode in rule.episodes]
    outcome = Outcome(
        state=status["state"],
        start_time=status["start_time"],
        end_time=status["end_time"],
        seconds=status["duration_seconds"],
        reason=reason(status),
    )
    return JobSummary(
        outcome=outcome,
        launch=_launch(facts),
        findings=severity_counts(episode.severity for episode in episodes),
        rules=tuple(dict.fromkeys(episode.finding.rule for episode in episodes)),
        verdict=verdict(evaluations) if episodes else None,
        steps=reported_steps(facts),
    )


def _completed(summary: JobSummary, backend: Backend, facts: JobFacts) -> JobSummary:
    """Add what the first worker recorded."""
    if not facts.workers:
        return replace(summary, is_complete=True)
    reader = OpenJob(backend, facts=facts).worker(int(facts.workers[0]))
    steps = read_steps(reader, Mode.TRAIN.value)
    durations_ns = steps.durations_ns[steps.is_representative]
    rows = read_scalars([reader], ScalarQuestion(Matching("*")))
    return replace(
        summary,
        steps=steps_done(facts, reader),
        step_seconds=float(np.median(durations_ns)) / NANOSECONDS if durations_ns.size else None,
        metrics=dict(itertools.islice(_last_values(rows).items(), _MAX_METRICS)),
        spark=_sparkline(rows),
        is_complete=True,
    )


def _launch(facts: JobFacts) -> LaunchFacts:
    last = max(facts.attempts, key=lambda item: item.attempt.number, default=None)
    surroundings = [item.surroundings for item in facts.attempts if item.surroundings]
    hosts = dict.fromkeys(item.machine.get("host", "") for item in surroundings)
    git = surroundings[-1].git if surroundings else {}
    return LaunchFacts(
        command=" ".join(last.attempt.command) if last else "",
        script=_script(last) if last else "",
        nodes=facts.nodes,
        hosts=tuple(filter(None, hosts)),
        workers=len(facts.workers),
        branch=git.get("branch", ""),
        commit=git.get("commit", ""),
    )


def _script(attempt: NodeAttempt) -> str:
    """The program that a command runs: its script or module, else its first word."""
    command = attempt.attempt.command
    for word, following in itertools.pairwise((*command, "")):
        if word == "-m" and following and following.rpartition(".")[2] not in _WRAPPERS:
            return following
        if word.endswith((".py", ".sh", ".ipynb")):
            return str(PurePosixPath(attempt.attempt.folder, word))
    return command[0] if command else ""


def _last_values(rows: pa.Table) -> dict[str, float]:
    """The last value of each scalar; names of evaluations start with their mode."""
    (names, name_numbers), (modes, mode_numbers) = texts_of(rows["name"]), texts_of(rows["mode"])
    keys = name_numbers.astype(np.int64) * max(1, len(modes)) + mode_numbers
    distinct, firsts = np.unique(keys[::-1], return_index=True)
    values = to_numpy(rows["value"])[::-1]
    metrics = {}
    for key, first in zip(distinct.tolist(), firsts.tolist(), strict=True):
        name, mode = names[key // len(modes)], modes[key % len(modes)]
        label = name if mode == Mode.TRAIN.value else f"{mode}/{name}"
        metrics[label] = float(values[first])
    return dict(sorted(metrics.items()))


def _sparkline(rows: pa.Table) -> Sparkline | None:
    """The training loss as a sparkline; None if there is none."""
    names, name_numbers = texts_of(rows["name"])
    modes, mode_numbers = texts_of(rows["mode"])
    losses = sorted(name for name in names if name in Losses())
    if Mode.TRAIN.value not in modes:
        return None
    is_train = mode_numbers == modes.index(Mode.TRAIN.value)
    for name in losses:
        indices = np.flatnonzero(is_train & (name_numbers == names.index(name)))
        if len(indices):
            return _sparkline_of(name, rows.take(pa.array(indices)))
    return None


def _sparkline_of(name: str, rows: pa.Table) -> Sparkline:
    values = to_numpy(rows["value"])[np.argsort(to_numpy(rows["step"]), kind="stable")]
    edges = np.linspace(0, len(values), min(_SPARKLINE_POINTS, len(values)) + 1).astype(np.int64)
    return Sparkline(name, tuple(_mean(values[a:b]) for a, b in itertools.pairwise(edges.tolist())))


def _mean(values: Any) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None
