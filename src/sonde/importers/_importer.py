"""What an importer is: it finds the recordings under a path and hands over what they hold."""

import io
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from sonde.errors import DamagedError, StoreError
from sonde.importers._job import JobDraft, WorkerDescription, WorkerRows
from sonde.importers._sources import Source, find_sources

_YEAR_2000_NS = 946_684_800_000_000_000


class Intake:
    """What importers hand things to: one for each import."""

    def __init__(self, draft: JobDraft, advance: Callable[[int], None]) -> None:
        self.advance = advance  # told how many bytes of the files are read
        self.left_out: Counter[str] = Counter()  # what was not understood
        self.remarks: list[str] = []
        self.parts: list[WorkerRows] = []
        self._draft = draft
        self._shift_ns: int | None = None

    def worker(self, source: WorkerDescription) -> WorkerRows:
        """A place for the rows of one recording."""
        rows = self._draft.worker(source)
        self.parts.append(rows)
        return rows

    def open(self, source: Source) -> "CountedFile":
        """The bytes of a recording."""
        try:
            return CountedFile(source.path, self.advance)
        except OSError as error:
            raise StoreError(f"Cannot read {source.path}: {error.strerror or error}") from error

    def shift_ns(self, path: Path, first_ns: int, last_ns: int) -> int:
        """What to add to a recording's own time.

        Nothing where it counts from the epoch. Others count from some start: they are taken to end
        when their file was written, and those that are imported together stay as they lie.
        """
        if first_ns > _YEAR_2000_NS:
            return 0
        if self._shift_ns is None:
            self._shift_ns = path.stat().st_mtime_ns - last_ns
            self.remarks.append("no date in the recording: taken to end when its file was written")
        return self._shift_ns


class CountedFile(io.FileIO):
    """A file that tells how much of it is read."""

    def __init__(self, path: Path, advance: Callable[[int], None]) -> None:
        super().__init__(path)
        self._advance = advance

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes."""
        data = super().read(size)
        self._advance(len(data))
        return data


class Importer(ABC):
    """Reads one kind of recording. The first line of its docstring says which."""

    endings: tuple[str, ...] = (".json", ".json.gz")

    def sources(self, path: Path) -> list[Source]:
        """The recordings at a path, a file or a folder; each with what its name tells."""
        return find_sources(path, self.endings)

    @abstractmethod
    def read(self, source: Source, intake: Intake) -> None:
        """Hands over one recording.

        Raises:
            DamagedError: It is not what it should be; says which and where.
        """

    def read_all(self, sources: Sequence[Source], intake: Intake) -> None:
        """Hands over all recordings; one of several that is something else is only told of.

        Raises:
            DamagedError: None of them can be read.
        """
        refused = []
        for source in sources:
            try:
                self.read(source, intake)
            except DamagedError as error:
                refused.append(f"left out: {error}")
                if len(refused) == len(sources):
                    raise
        intake.remarks += refused
        for what, count in (+intake.left_out).items():
            intake.parts[0].tell_left_out(f"{what} ({count:,})")
