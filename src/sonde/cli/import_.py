"""`sonde import`: create a job from another tool's recording."""

import argparse
import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from sonde.cli._command import (
    Command,
    Options,
    add_json,
    add_store,
    print_json,
    print_line,
    print_note,
)
from sonde.clock import SystemClock
from sonde.importers import IMPORTERS, Importer, Intake, JobDraft, Location, local_recording
from sonde.store.format import OPERATIONS, SCALARS
from sonde.store.places import check_store

_SUFFIXES = re.compile(r"(\.pt)?(\.trace)?\.json(\.gz)?$")


class ImportRecording(Command):
    """Create a job from another tool's recording.

    Reads traces of the PyTorch, TensorFlow and JAX profilers, Chrome traces and Horovod timelines,
    or a folder with the traces of many ranks, and recordings of smdebug, TensorBoard, Weights &
    Biases and MLflow, and tables of losses. The job appears when the import is complete.
    """

    example = "sonde import kineto traces/ --name resnet-profile"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        kinds = [name.replace("_", "-") for name in IMPORTERS.names()]
        parser.add_argument("kind", metavar="KIND", choices=kinds, help=", ".join(kinds))
        parser.add_argument(
            "path", metavar="PATH", help="the file or folder to import, or its s3:// URI"
        )
        parser.add_argument("--name", metavar="N", help="the job's name (default: the file name)")
        add_store(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        check_store(options.store)
        importer = IMPORTERS.load(options.kind)()
        with local_recording(options.path, importer.needs) as location:
            name = options.name or _name_of(location.path)
            with JobDraft(options.store, name, SystemClock()) as draft:
                intake = _import(importer, location, options.kind, draft)
            intake.remarks = list(map(location.shown, intake.remarks))
        if options.json:
            print_json(_document(name, options, intake))
        else:
            print_line(f"{name}: {_counts_text(intake)}")
            for line in _notes(intake):
                print_note(line)
        return 0


def _import(importer: Importer, location: Location, kind: str, draft: JobDraft) -> Intake:
    """Read all recordings and publish the job."""
    sources = importer.sources(location.path)
    with _progress(sum(source.path.stat().st_size for source in sources)) as advance:
        intake = Intake(draft, advance)
        importer.read_all(sources, intake)
        parent = location.text.rpartition("/")[0]
        draft.publish(("sonde", "import", kind, location.text), parent or "/")
    return intake


def _name_of(path: Path) -> str:
    """Derive a job's name from a file or folder."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", _SUFFIXES.sub("", path.name)).strip(".-")
    return name[:128] or "imported"


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal; nothing in a pipe."""
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
        (mode, step)
        for rank_part in intake.parts
        for mode in rank_part.steps
        for step in rank_part.steps[mode]
    }
    return {
        "workers": len({rank_part.source.rank for rank_part in intake.parts}),
        "steps": len(steps),
        "tensors": len({name for rank_part in intake.parts for name in rank_part.tensors}),
        "operations": sum(rank_part.counts[OPERATIONS.name] for rank_part in intake.parts),
        "scalars": sum(rank_part.counts[SCALARS.name] for rank_part in intake.parts),
    }


def _counts_text(intake: Intake) -> str:
    counts = _counts(intake)
    texts = [
        f"{count:,} {noun if count != 1 else noun[:-1]}" for noun, count in counts.items() if count
    ]
    return ", ".join(texts)


def _notes(intake: Intake) -> list[str]:
    """Notes of the importer, and a line that counts the skipped events."""
    left_out = ", ".join(f"{what} ({count:,})" for what, count in (+intake.left_out).items())
    return [*intake.remarks, *([f"Skipped: {left_out}"] if left_out else [])]


def _document(name: str, options: Options, intake: Intake) -> dict[str, object]:
    return {
        "job": name,
        "store": options.store,
        **_counts(intake),
        "left_out": dict(+intake.left_out),
        "remarks": intake.remarks,
    }
