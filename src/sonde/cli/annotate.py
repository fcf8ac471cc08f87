"""`sonde annotate`: tags, group and note of jobs."""

import argparse
from dataclasses import asdict, replace

from sonde.cli._command import Command, Options, add_json, add_store, print_json, print_line
from sonde.records.job_summary import Annotations
from sonde.store.annotations import read_annotations, with_tags, write_annotations
from sonde.store.places import find_job


class Annotate(Command):
    """Add tags, a group or a note to jobs; without options, print them.

    `sonde jobs --query tag:baseline` and the search of the dashboard find jobs by tags and groups.
    """

    example = "sonde annotate resnet-7 resnet-8 --tag baseline --group sweep-3"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "jobs", metavar="JOB", nargs="+", help="a job's name, or the path or URI of its folder"
        )
        add_store(parser)
        parser.add_argument(
            "--tag", metavar="TAG", action="append", default=[], help="add a tag; repeatable"
        )
        parser.add_argument(
            "--untag", metavar="TAG", action="append", default=[], help="remove a tag; repeatable"
        )
        parser.add_argument("--group", metavar="NAME", help="set the group; '' removes it")
        parser.add_argument("--note", metavar="TEXT", help="set the note; '' removes it")
        add_json(parser)

    def execute(self, options: Options) -> int:
        backends = [find_job(reference, options.store) for reference in options.jobs]
        documents = []
        for backend in backends:
            before = read_annotations(backend)
            after = with_tags(before, options.tag, options.untag)
            if options.group is not None:
                after = replace(after, group=options.group)
            if options.note is not None:
                after = replace(after, note=options.note)
            if after != before:
                after = write_annotations(backend, after)
            name = backend.uri.rstrip("/").rpartition("/")[2]
            documents.append({"job": name, **asdict(after)})
            if not options.json:
                print_line(f"{name}: {_text(after)}")
        if options.json:
            print_json(documents)
        return 0


def _text(annotations: Annotations) -> str:
    texts = [", ".join(annotations.tags)] if annotations.tags else []
    texts += [f"group {annotations.group}"] if annotations.group else []
    texts += [annotations.note] if annotations.note else []
    return "; ".join(texts) or "no tags, group or note"
