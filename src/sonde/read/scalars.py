"""Scalars of one worker: losses, learning rates, and values logged by the script."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pyarrow as pa

from sonde.read.workers import WorkerReader, is_of_latest_attempt
from sonde.records.arrays import BoolArray, FloatArray, IntArray
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.store.format import SCALARS
from sonde.store.tables import empty_table, from_numpy, texts_of, to_numpy

LOSS = "loss"
_NO_LOSSES = ("loss/root", "loss/factor")  # intermediate values of the loss


@dataclass(frozen=True, init=False)
class Matching(Container[str]):
    """All texts that match one of several patterns."""

    patterns: tuple[str, ...]

    def __init__(self, *patterns: str) -> None:
        object.__setattr__(self, "patterns", patterns)

    def __contains__(self, text: object) -> bool:
        return any(fnmatchcase(str(text), pattern) for pattern in self.patterns)


@dataclass(frozen=True)
class Losses(Container[str]):
    """The names of losses: `loss`, or one per optimizer."""

    def __contains__(self, text: object) -> bool:
        is_loss = text == LOSS or str(text).startswith(f"{LOSS}/")
        return is_loss and text not in _NO_LOSSES


@dataclass(frozen=True)
class ScalarQuestion:
    """A query for scalars."""

    names: Container[str]
    mode: str | None = None
    source: str | None = None
    steps: StepRange = ANY_STEP
    within: TimeRange = EVER

    @property
    def only(self) -> dict[str, Container[str]]:
        """The allowed texts by column."""
        texts: dict[str, Container[str]] = {"name": self.names}
        if self.mode is not None:
            texts["mode"] = (self.mode,)
        if self.source is not None:
            texts["source"] = (self.source,)
        return texts


_TEXTS = ("name", "mode", "source")


def read_scalars(readers: Sequence[WorkerReader], question: ScalarQuestion) -> pa.Table:
    """The rows that match a query, worker by worker, in order of writing.

    Steps that a restarted worker repeated replace the earlier ones.
    """
    tables = [_rows_of(reader, question) for reader in readers]
    if not tables:
        tables = [_with_worker(empty_table(SCALARS), 0, np.empty(0, dtype=np.int64))]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _rows_of(reader: WorkerReader, question: ScalarQuestion) -> pa.Table:
    table = reader.folder(SCALARS).rows(question.within, question.steps, only=question.only)
    times, steps = to_numpy(table["time_ns"]), to_numpy(table["step"])
    is_current = reader.latest(times, steps, *_numbers(table, *_TEXTS))
    lives = _with_worker(table, reader.rank, reader.life_starts_ns(times))
    return lives if is_current.all() else lives.take(from_numpy(np.flatnonzero(is_current)))


def _with_worker(table: pa.Table, rank: int, life_starts_ns: IntArray) -> pa.Table:
    ranks = np.full(table.num_rows, rank, dtype=np.int64)
    table = table.append_column("worker", from_numpy(ranks))
    return table.append_column("life_start_ns", from_numpy(life_starts_ns))


def _numbers(table: pa.Table, *columns: str) -> list[IntArray]:
    """Columns as numbers; texts as the index of the distinct text."""
    return [
        texts_of(table[name])[1].astype(np.int64) if name in _TEXTS else to_numpy(table[name])
        for name in columns
    ]


def reduce_scalars(table: pa.Table) -> pa.Table:
    """One row per scalar and step: mean, minimum and maximum over the workers that recorded it.

    If a worker recorded several values in one step, the last one counts.
    """
    times, lives = to_numpy(table["time_ns"]), to_numpy(table["life_start_ns"])
    is_current = is_of_latest_attempt(times, lives, *_numbers(table, *_TEXTS, "step"))
    table = table.take(from_numpy(np.flatnonzero(is_current)))
    keys = _numbers(table, *_TEXTS, "step", "worker")
    order = np.lexsort((to_numpy(table["time_ns"]), *reversed(keys)))
    last_rows = order[_ends([key[order] for key in keys])]
    table = table.take(from_numpy(last_rows))
    lasts = np.flatnonzero(_ends([key[last_rows] for key in keys[:-1]]))
    firsts = np.append(0, lasts + 1)[: len(lasts)]
    workers = lasts - firsts + 1
    values = to_numpy(table["value"])
    reduced = table.take(from_numpy(firsts)).select([*_TEXTS, "step", "time_ns"])
    for name, column in (
        ("value", _each(np.add, values, firsts) / workers),
        ("minimum", _each(np.minimum, values, firsts)),
        ("maximum", _each(np.maximum, values, firsts)),
        ("workers", workers),
    ):
        reduced = reduced.append_column(name, from_numpy(column))
    return reduced


def _ends(keys: Sequence[IntArray]) -> BoolArray:
    """Which sorted rows are the last ones with the same keys."""
    changes = [np.append(key[1:] != key[:-1], True)[: len(key)] for key in keys]
    return np.asarray(np.logical_or.reduce(changes))


def _each(operation: np.ufunc, values: FloatArray, firsts: IntArray) -> FloatArray:
    if not len(firsts):
        return np.empty(0)
    with np.errstate(invalid="ignore"):  # infinities of both signs
        return np.asarray(operation.reduceat(values, firsts))
