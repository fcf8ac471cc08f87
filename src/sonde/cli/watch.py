"""`sonde watch`: a live view of a job in the terminal."""

import argparse
import contextlib
import sys

from rich.console import Console

from sonde.cli._command import Command, Options, add_job, add_json, say_json
from sonde.clock import SystemClock
from sonde.errors import UsageError
from sonde.results.live import JobNow, Observer
from sonde.store.places import find_job
from sonde.terminal.screen import show_until_over
from sonde.terminal.text import print_lines, verdict_lines
from sonde.terminal.watch import frame


class Watch(Command):
    """Watch a job in the terminal, live: bars for every machine, until it is over.

    q or Ctrl-C leaves; the job goes on. In a pipe one frame is printed. Of many nodes each is a
    line, the worst first.
    """

    example = "sonde watch resnet"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument("--node", metavar="NAME", help="only this node, in full")
        parser.add_argument("--once", action="store_true", help="print one frame and leave")
        add_json(parser)

    def execute(self, options: Options) -> int:
        clock = SystemClock()
        backend = find_job(options.job, options.store)
        observer = Observer(backend, clock)
        now = _look(observer, options.node)
        if options.json:
            say_json(now.document())
            return 0
        if options.once or not sys.stdout.isatty() or now.is_over:
            print_lines(frame(now, Console().width))
            return 0
        with contextlib.suppress(KeyboardInterrupt):
            now = show_until_over(lambda: observer.look(options.node), clock, backend.poll_seconds)
        print_lines(verdict_lines(now.status, options.job))
        return 0


def _look(observer: Observer, node: str | None) -> JobNow:
    now = observer.look(node)
    if node is not None and not now.nodes:
        known = ", ".join(now.status["nodes"])
        raise UsageError(f"Job {now.status['job']!r} has no node {node!r}. Known: {known}")
    return now
