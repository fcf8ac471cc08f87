"""`sonde watch`: live view of a job in the terminal."""

import argparse
import contextlib
import sys

from rich.console import Console

from sonde.cli._command import Command, Options, add_job, add_json, print_json
from sonde.clock import SystemClock
from sonde.errors import UsageError
from sonde.results.live import JobNow, Observer
from sonde.store.places import find_job
from sonde.terminal.output import print_lines
from sonde.terminal.screen import show_until_over
from sonde.terminal.status import verdict_lines
from sonde.terminal.watch import frame


class Watch(Command):
    """Show a live view of a job in the terminal.

    Press q or Ctrl-C to quit; the job continues. In a pipe, one frame is printed. With several
    nodes, shows one line per node, nodes with problems first.
    """

    example = "sonde watch resnet"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument("--node", metavar="NAME", help="show only this node, in detail")
        parser.add_argument("--once", action="store_true", help="print one frame and exit")
        add_json(parser)

    def execute(self, options: Options) -> int:
        clock = SystemClock()
        backend = find_job(options.job, options.store)
        observer = Observer(backend, clock)
        now = _read_now(observer, options.node)
        if options.json:
            print_json(now.document())
            return 0
        if options.once or not sys.stdout.isatty() or now.is_over:
            print_lines(frame(now, Console().width))
            return 0
        with contextlib.suppress(KeyboardInterrupt):
            now = show_until_over(lambda: observer.poll(options.node), clock, backend.poll_seconds)
        print_lines(verdict_lines(now.status, options.job))
        return 0


def _read_now(observer: Observer, node: str | None) -> JobNow:
    now = observer.poll(node)
    if node is not None and not now.nodes:
        names = ", ".join(now.status["nodes"])
        raise UsageError(f"Job {now.status['job']!r} has no node {node!r}. Nodes: {names}")
    return now
