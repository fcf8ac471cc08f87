"""The interface of importers: find recordings under a path and read them."""

import io
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from sonde.errors import DamagedError, StoreError
from sonde.importers._job import JobDraft
from sonde.importers._rows import NodeRows, WorkerDescription, WorkerRows
from sonde.importers._sources import Source, find_sources

_YEAR_2000_NS = 946_684_800_000_000_000


class Intake:
    """Collects the data of one import."""

    def __init__(self, draft: JobDraft, advance: Callable[[int], None]) -> None:
        self.advance = advance  # called with the number of bytes read
        self.left_out: Counter[str] = Counter()  # skipped events by description
        self.remarks: list[str] = []
        self.parts: list[WorkerRows] = []
        self._draft = draft
        self._shift_ns: int | None = None

    def worker(self, source: WorkerDescription) -> WorkerRows:
        """Create a writer for the rows of one recording."""
        rows = self._draft.worker(source)
        self.parts.append(rows)
        return rows

    def node(self, name: str) -> NodeRows:
        """Create a writer for the samples of one node."""
        return self._draft.node(name)

    def open(self, source: Source) -> "CountedFile":
        """Open a recording."""
        try:
            return CountedFile(source.path, self.advance)
        except OSError as error:
            raise StoreError(f"Cannot read {source.path}: {error.strerror or error}") from error

    def shift_ns(self, path: Path, first_ns: int, last_ns: int) -> int:
        """The offset to add to a recording's timestamps.

        Zero if they count from the epoch. Otherwise the recording is assumed to end when its file
        was written; recordings imported together keep their relative times.
        """
        if first_ns > _YEAR_2000_NS:
            return 0
        if self._shift_ns is None:
            self._shift_ns = path.stat().st_mtime_ns - last_ns
            self.remarks.append("The recording has no date; its file's modification time is used.")
        return self._shift_ns


class CountedFile(io.FileIO):
    """A file that reports how much was read."""

    def __init__(self, path: Path, advance: Callable[[int], None]) -> None:
        super().__init__(path)
        self._advance = advance

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes."""
        data = super().read(size)
        self._advance(len(data))
        return data


class Importer(ABC):
    """Reads one kind of recording, described in the first line of its docstring."""

    endings: tuple[str, ...] = (".json", ".json.gz")

    def needs(self, key: str) -> bool:
        """Whether to download an object of a recording in an object store."""
        return key.endswith(self.endings)

    def sources(self, path: Path) -> list[Source]:
        """The recordings at a path (file or folder), with rank and node from their names."""
        return find_sources(path, self.endings)

    @abstractmethod
    def read(self, source: Source, intake: Intake) -> None:
        """Read one recording.

        Raises:
            DamagedError: It cannot be read; names the file and the position.
        """

    def read_all(self, sources: Sequence[Source], intake: Intake) -> None:
        """Read all recordings; unreadable ones are skipped with a remark.

        Raises:
            DamagedError: None of them can be read.
        """
        refused = []
        for source in sources:
            try:
                self.read(source, intake)
            except DamagedError as error:
                refused.append(f"Skipped: {error}")
                if len(refused) == len(sources):
                    raise
        intake.remarks += refused
        for rows in intake.parts[:1]:
            rows.record_all_skipped(intake.left_out)
