"""`sonde jobs`: list the jobs of a store."""

import argparse
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
from sonde.read.jobs import JobFacts, has_begun, list_job_names, read_job
from sonde.read.opening import BROKEN, MAX_READ_SECONDS, read_in_time
from sonde.read.status import status_document
from sonde.results.rule_standing import severity_counts
from sonde.store.backends import Backend, open_backend
from sonde.store.places import check_store, job_uri
from sonde.terminal.jobs import jobs_lines
from sonde.terminal.output import print_lines, width_of_output

_SHOWN = ("job", "state", "start_time", "end_time", "duration_seconds", "nodes", "exit")


class Jobs(Command):
    """List the jobs of a store, most recent last."""

    example = "sonde jobs --store s3://bucket/team"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_store(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        check_store(options.store)
        send_spools(options.store)
        now_ns = SystemClock().now_ns()
        documents = []
        for name in list_job_names(options.store):
            backend = open_backend(job_uri(options.store, name))
            read = partial(_document_of, backend, now_ns)
            try:
                documents += read_in_time(backend, read, MAX_READ_SECONDS)
            except StoreError as error:  # list the other jobs
                documents.append(_broken(name, str(error)))
        documents.sort(key=lambda document: document["start_time"] or "")
        for document in documents:
            if document["state"] == BROKEN and not options.json:
                print_note(f"Cannot read {document['job']}: {document['exit']['message']}")
        if options.json:
            print_json(documents)
        elif documents:
            print_lines(jobs_lines(documents, width_of_output()))
        else:
            print_line(f"No jobs in {options.store}. Start one: sonde run python train.py")
        return 0


def _document_of(backend: Backend, now_ns: int) -> list[dict[str, Any]]:
    """The document of a job; empty if the job never started."""
    facts = read_job(backend, now_ns).check_readable()
    return [_document(backend, facts, now_ns)] if has_begun(backend, facts) else []


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
    return {**document, "findings": None, "damages": [reason]}
