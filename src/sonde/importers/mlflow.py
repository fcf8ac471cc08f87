"""Import runs from the file store of MLflow."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sonde.errors import DamagedError, UsageError
from sonde.importers._curves import Curves, describe_worker
from sonde.importers._damages import Damages, read_bytes
from sonde.importers._importer import Importer, Intake
from sonde.importers._sources import Source

_SOURCE = "mlflow"
_METRICS = "metrics"
_RUN_FILE = "meta.yaml"
_MILLISECOND_NS = 1_000_000
_NEVER_MILLISECONDS = 4e12  # the year 2096


class MlflowImporter(Importer):
    """Runs in a file store of MLflow: `mlruns/EXPERIMENT/RUN`, or a store with one run."""

    def needs(self, key: str) -> bool:
        *folders, name = key.split("/")
        return name == _RUN_FILE or _METRICS in folders

    def sources(self, path: Path) -> list[Source]:
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder. Specify mlruns/EXPERIMENT/RUN.")
        runs = sorted(
            file.parent for file in path.rglob(_RUN_FILE) if (file.parent / _METRICS).is_dir()
        )
        if not runs:
            raise UsageError(f"{path} has no run of MLflow with metrics.")
        if len(runs) > 1:
            names = ", ".join(run.name for run in runs)
            raise UsageError(f"{path} has several runs: {names}. Import one of them: {runs[-1]}")
        metrics = sorted(file for file in (runs[0] / _METRICS).rglob("*") if file.is_file())
        return [Source(file) for file in metrics]

    def read(self, source: Source, intake: Intake) -> None:
        self.read_all([source], intake)

    def read_all(self, sources: Sequence[Source], intake: Intake) -> None:
        curves, damages = Curves(_SOURCE), Damages()
        for source in sources:
            _read(source.path, curves, intake, damages)
        remarks = damages.remarks()
        if not curves.points:
            raise DamagedError("; ".join(remarks) or "The run has no values.")
        curves.write(intake.worker(describe_worker(_SOURCE)), intake)
        intake.remarks += remarks


def _read(path: Path, curves: Curves, intake: Intake, damages: Damages) -> None:
    """Read a metric: lines of time in milliseconds, value and step."""
    folders = path.parts[len(path.parts) - path.parts[::-1].index(_METRICS) :]
    name = "/".join(folders)
    left_out = Counter[str]()
    for line in read_bytes(path, intake.advance).decode("utf-8", "replace").splitlines():
        words = line.split()
        try:
            milliseconds, value = int(words[0]), float(words[1])
            step = int(words[2]) if len(words) > 2 else 0
        except (IndexError, ValueError):
            left_out["lines"] += 1
            continue
        if 0 < milliseconds < _NEVER_MILLISECONDS and abs(step) < 1 << 62:
            curves.add(name, milliseconds * _MILLISECOND_NS, step, value)
        else:
            left_out["lines"] += 1
    if left_out:
        damages.add("metric", path, f"has unreadable lines: {left_out['lines']}")
