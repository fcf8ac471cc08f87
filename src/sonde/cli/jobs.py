"""`sonde jobs`: all jobs of a store."""

import argparse

from sonde.cli._command import Command, Options, add_json, add_store, remark, say, say_json
from sonde.clock import SystemClock
from sonde.errors import StoreError
from sonde.read.jobs import list_job_names, read_job
from sonde.read.status import status_document
from sonde.show.terminal import jobs_lines, print_lines, width_of_output
from sonde.store.backends import open_backend
from sonde.store.places import check_store, job_uri


class Jobs(Command):
    """List the jobs of a store, the latest last."""

    example = "sonde jobs --store s3://bucket/team"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_store(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        check_store(options.store)
        now_ns = SystemClock().now_ns()
        documents = []
        for name in list_job_names(options.store):
            try:
                facts = read_job(open_backend(job_uri(options.store, name)), now_ns)
            except StoreError as error:  # the other jobs are there all the same
                remark(f"{name}: {error}")
                continue
            document = status_document(facts, now_ns)
            kept = ("job", "state", "start_time", "end_time", "duration_seconds", "nodes", "exit")
            documents.append({key: document[key] for key in kept})
        documents.sort(key=lambda document: document["start_time"] or "")
        if options.json:
            say_json(documents)
        elif documents:
            print_lines(jobs_lines(documents, width_of_output()))
        else:
            say(f"No jobs in {options.store} yet. Make one: sonde run python train.py")
        return 0
