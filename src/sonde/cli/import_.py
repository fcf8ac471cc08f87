"""`sonde import`: other people's recordings become a job."""

import argparse
import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from sonde.cli._command import Command, Options, add_json, add_store, remark, say, say_json
from sonde.clock import SystemClock
from sonde.importers import IMPORTERS, Intake, JobDraft
from sonde.store.format import OPERATIONS, SCALARS
from sonde.store.places import check_store

_ENDINGS = re.compile(r"(\.pt)?(\.trace)?\.json(\.gz)?$")


class ImportRecording(Command):
    """Make a job of what another program has recorded.

    A trace of PyTorch's profiler, a Chrome trace, a trace of TensorFlow's or JAX's profiler, a
    timeline of Horovod; or a folder with those of many ranks. The job is there once all of it is.
    """

    example = "sonde import kineto traces/ --name resnet-profile"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        kinds = [name.replace("_", "-") for name in IMPORTERS.names()]
        parser.add_argument("kind", metavar="KIND", choices=kinds, help=", ".join(kinds))
        parser.add_argument("path", metavar="PATH", type=Path, help="a file or a folder")
        parser.add_argument("--name", metavar="N", help="the job's name (default: the file's)")
        add_store(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        check_store(options.store)
        importer = IMPORTERS.load(options.kind)()
        path = options.path.expanduser().absolute()
        name = options.name or _name_of(path)
        with JobDraft(options.store, name, SystemClock()) as draft:
            sources = importer.sources(path)
            with _progress(sum(one.path.stat().st_size for one in sources)) as advance:
                intake = Intake(draft, advance)
                importer.read_all(sources, intake)
                draft.publish(("sonde", "import", options.kind, str(path)), str(path.parent))
        if options.json:
            say_json(_document(name, options, intake))
        else:
            say(f"{name}: {_told(intake)}")
            for line in _remarks(intake):
                remark(line)
        return 0


def _name_of(path: Path) -> str:
    """The name of a file or folder, as that of a job."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", _ENDINGS.sub("", path.name)).strip(".-")
    return name[:128] or "imported"


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, nothing in a pipe."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _size: None
        return
    columns = (TextColumn("importing"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("importing", total=total)
        yield lambda size: progress.advance(task, size)


def _counts(intake: Intake) -> dict[str, int]:
    steps = {
        (mode, one) for part in intake.parts for mode in part.steps for one in part.steps[mode]
    }
    return {
        "workers": len({part.told.rank for part in intake.parts}),
        "steps": len(steps),
        "operations": sum(part.counts[OPERATIONS.name] for part in intake.parts),
        "scalars": sum(part.counts[SCALARS.name] for part in intake.parts),
    }


def _told(intake: Intake) -> str:
    counts = _counts(intake)
    parts = [
        f"{count:,} {noun if count != 1 else noun[:-1]}" for noun, count in counts.items() if count
    ]
    return ", ".join(parts)


def _remarks(intake: Intake) -> list[str]:
    """What a person must know of it, and everything that was left out in one line."""
    left_out = ", ".join(f"{what} ({count:,})" for what, count in (+intake.left_out).items())
    return [*intake.remarks, *([f"left out: {left_out}"] if left_out else [])]


def _document(name: str, options: Options, intake: Intake) -> dict[str, object]:
    return {
        "job": name,
        "store": options.store,
        **_counts(intake),
        "left_out": dict(+intake.left_out),
        "remarks": intake.remarks,
    }
