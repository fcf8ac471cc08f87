"""`sonde compact`: decode traces, seal logs as Parquet, and merge files."""

import argparse
from collections.abc import Sequence

from sonde.cli._arrow import keep_pandas_out
from sonde.cli._command import Command, Options, add_job, add_json, print_json, print_line
from sonde.cli._traces import decode_traces, node_of, ranks_of
from sonde.clock import SystemClock
from sonde.errors import UsageError
from sonde.formats import format_bytes, pluralize
from sonde.read.jobs import JobFacts, read_job
from sonde.records.job import JobState
from sonde.settings import RunSettings, parse_size
from sonde.store.backends import Backend
from sonde.store.format import FAMILIES
from sonde.store.layout import FINDINGS_FOLDER, NODES, WORKERS, reserve_key
from sonde.store.lease import Leasing
from sonde.store.places import find_job
from sonde.store.reserve import release_reserve
from sonde.store.retention import keep_within
from sonde.store.seal import FamilyFolder, seal_folder


class Compact(Command):
    """Convert a job's logs to Parquet, merge small files, and enforce its disk budget.

    Decodes pending profiler traces first. Running jobs do this automatically; for them, only
    closed files are converted. Any Parquet reader can open the result.
    """

    example = "sonde compact resnet"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument("--node", metavar="NAME", help="only data of this node")
        parser.add_argument(
            "--budget", metavar="SIZE", help="maximum size of the job (default: 20GB)"
        )
        parser.add_argument(
            "--traces", action="store_true", help="only decode pending profiler traces"
        )
        parser.add_argument("--quiet", action="store_true", help="print nothing")
        add_json(parser)

    def execute(self, options: Options) -> int:
        keep_pandas_out()
        backend = find_job(options.job, options.store)
        facts = read_job(backend, SystemClock().now_ns())
        if options.node is not None and options.node not in backend.folders(NODES):
            names = ", ".join(backend.folders(NODES)) or "none"
            raise UsageError(f"Job {facts.name!r} has no node {options.node!r}. Nodes: {names}")
        before = _size(backend)
        budget = RunSettings().disk_bytes
        if options.budget:
            budget = parse_size(options.budget, "--budget")
        folders = _folders(backend, facts, options.node)
        traces = decode_traces(backend, options.node)
        segments = removed = 0
        if not options.traces:
            segments = _seal_all(backend, facts, folders, options.node)
            removed = keep_within(backend, budget).files
            _clean_up(backend, facts)
        after = _size(backend)
        if options.json:
            print_json(
                {
                    "job": facts.name,
                    "traces_decoded": traces,
                    "segments_written": segments,
                    "bytes_before": before,
                    "bytes_after": after,
                    "raw_files_removed": removed,
                }
            )
        elif not options.quiet:
            written = f"{pluralize(segments, 'segment')} written"
            if traces:
                written = f"{pluralize(traces, 'trace')} decoded, {written}"
            change = f"{format_bytes(before)} before, {format_bytes(after)} after"
            print_line(f"{facts.name}: {written}, {change}")
        return 0


def _folders(backend: Backend, facts: JobFacts, node: str | None) -> list[str]:
    """The folders of nodes, workers and findings; for a node, also those of its workers."""
    nodes = [f"{NODES}/{name}" for name in backend.folders(NODES) if node in (None, name)]
    workers = ranks_of(facts, node)
    # the rules process may still be writing findings
    has_ended = (
        node is None and facts.state.is_over and Leasing(backend, SystemClock(), "").is_free()
    )
    findings = [FINDINGS_FOLDER] if has_ended else []
    return nodes + [f"{WORKERS}/{rank}" for rank in workers] + findings


def _is_over(facts: JobFacts, folder: str) -> bool:
    """Whether nothing writes into a folder any more."""
    kind, _, name = folder.partition("/")
    if any(
        attempt.unsent for attempt in facts.attempts
    ):  # the rest of its segments has not arrived yet
        return False
    states = {attempt.attempt.node: attempt.state for attempt in facts.latest}
    if kind == FINDINGS_FOLDER:
        return facts.state.is_over
    if kind == NODES:
        return states.get(name, JobState.LOST).is_over
    return states.get(node_of(facts, name), facts.state).is_over


def _seal_all(backend: Backend, facts: JobFacts, folders: Sequence[str], node: str | None) -> int:
    return sum(
        _seal(backend, folder, is_over=_is_over(facts, folder), is_whole=node is None)
        for folder in folders
    )


def _seal(backend: Backend, folder: str, *, is_over: bool, is_whole: bool) -> int:
    return sum(
        seal_folder(
            FamilyFolder(backend, folder, family), is_over=is_over, merge_all=is_whole and is_over
        )
        for family in FAMILIES.values()
    )


def _clean_up(backend: Backend, facts: JobFacts) -> None:
    """Remove temporary files that killed launchers left behind."""
    backend.sweep(SystemClock().now_ns())
    for attempt in facts.attempts:
        if attempt.state.is_over:
            release_reserve(backend, reserve_key(attempt.attempt.node, attempt.attempt.number))


def _size(backend: Backend) -> int:
    return sum(entry.size for entry in backend.entries(""))
