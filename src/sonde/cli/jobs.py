"""`sonde jobs`: list the jobs of a store."""

import argparse
from dataclasses import asdict
from functools import partial
from typing import Any

from sonde.cli._command import (
    Command,
    Options,
    add_json,
    add_store,
    print_json,
    print_line,
    print_note,
)
from sonde.cli._spools import send_spools
from sonde.clock import SystemClock
from sonde.errors import StoreError
from sonde.read.findings import read_evaluations
from sonde.read.jobs import JobFacts, list_job_names, read_job
from sonde.read.opening import BROKEN, MAX_READ_SECONDS, read_in_time
from sonde.read.status import status_document
from sonde.records.job_summary import Annotations, JobSummary, ListedJob, Outcome
from sonde.results.job_query import JobQuery, parse_query
from sonde.results.job_summary import read_listed_job
from sonde.results.previous_run import PreviousRuns
from sonde.results.rule_standing import severity_counts
from sonde.store.backends import Backend, open_backend
from sonde.store.places import check_store, job_uri
from sonde.terminal.jobs import jobs_lines
from sonde.terminal.output import print_lines, width_of_output

_SHOWN = ("job", "state", "start_time", "end_time", "duration_seconds", "nodes", "exit")


class Jobs(Command):
    """List the jobs of a store, most recent last.

    With --query, only jobs that match all of its terms: words of the name, outcome, findings, tags
    or note, and fields such as state:failed, host:gpu-*, branch:main, commit:1f3a, script:train.py,
    rule:LossSpike, severity:critical, tag:baseline, group:sweep-3, date>=2026-11-01, date:2026-11,
    duration>10min, steps>1000 or findings=0. Other names are the last values of metrics, such as
    loss<0.5 or eval/accuracy>0.9. A minus sign in front excludes jobs: -state:failed.
    """

    example = "sonde jobs --query 'branch:main loss<0.5 date>=2026-11-01'"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_store(parser)
        parser.add_argument("--query", metavar="TERMS", default="", help="only matching jobs")
        add_json(parser)

    def execute(self, options: Options) -> int:
        check_store(options.store)
        send_spools(options.store)
        query = parse_query(options.query)
        now_ns = SystemClock().now_ns()
        documents: list[dict[str, Any]] = []
        listed: list[ListedJob] = []
        for name in list_job_names(options.store):
            backend = open_backend(job_uri(options.store, name))
            read = partial(_read, backend, name, now_ns, query)
            try:
                jobs, matches = read_in_time(backend, read, MAX_READ_SECONDS)
                listed += jobs
                documents += matches
            except StoreError as error:  # list the other jobs
                documents += [_broken(name, str(error))] if query.matches(_unreadable(name)) else []
        _compare_speeds(documents, listed)
        documents.sort(key=lambda document: document["start_time"] or "")
        for document in documents:
            if document["state"] == BROKEN and not options.json:
                print_note(f"Cannot read {document['job']}: {document['exit']['message']}")
        if options.json:
            print_json(documents)
        elif documents:
            print_lines(jobs_lines(documents, width_of_output()))
        elif options.query:
            print_line(f"No matching jobs in {options.store}.")
        else:
            print_line(f"No jobs in {options.store}. Start one: sonde run python train.py")
        return 0


def _read(
    backend: Backend, name: str, now_ns: int, query: JobQuery
) -> tuple[tuple[ListedJob, ...], list[dict[str, Any]]]:
    """A job as it is listed, and its document if it matches; empty if it never started."""
    jobs = read_listed_job(backend, name, now_ns, is_complete=True)
    if not jobs or not query.matches(jobs[0]):
        return jobs, []
    facts = read_job(backend, now_ns).check_readable()
    return jobs, [_document(backend, facts, now_ns) | asdict(jobs[0].annotations)]


def _compare_speeds(documents: list[dict[str, Any]], jobs: list[ListedJob]) -> None:
    """Add how the speed of each job compares with the previous run of its script."""
    runs = PreviousRuns(jobs)
    changes = {job.name: runs.change_of(job) for job in jobs}
    for document in documents:
        change = changes.get(document["job"])
        document["speed_change"] = asdict(change) if change else None


def _unreadable(name: str) -> ListedJob:
    return ListedJob(name, JobSummary(Outcome(BROKEN)))


def _document(backend: Backend, facts: JobFacts, now_ns: int) -> dict[str, Any]:
    document = dict(status_document(facts, now_ns))
    shown = {key: document[key] for key in _SHOWN}
    findings = _finding_counts(backend)
    return shown | {"findings": findings, "damages": list(facts.damages)}


def _finding_counts(backend: Backend) -> dict[str, int] | None:
    """The number of findings by severity; None if no rules were run."""
    evaluations = read_evaluations(backend, [])
    if not evaluations:
        return None
    episodes = [episode for evaluation in evaluations for episode in evaluation.episodes]
    return severity_counts(episode.severity.value for episode in episodes)


def _broken(name: str, reason: str) -> dict[str, Any]:
    """The document of a job that cannot be read."""
    exit_ = {"code": None, "reason": BROKEN, "message": reason, "traceback": None}
    document = dict.fromkeys(_SHOWN) | {"job": name, "state": BROKEN, "nodes": [], "exit": exit_}
    return {**document, "findings": None, "damages": [reason], **asdict(Annotations())}
