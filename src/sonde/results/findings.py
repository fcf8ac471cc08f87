"""What rules say about a job, as tables."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.errors import UsageError
from sonde.read.findings import episode_document, evaluation_document
from sonde.records.action import ActionRecord
from sonde.records.finding import Episode, Evaluation, RuleStatus, Severity
from sonde.records.seen import Seen
from sonde.results.rule_coverage import Coverage
from sonde.results.rule_verdict import coverage_of, root_first, verdict
from sonde.results.tables import TIME, Frame, aligned
from sonde.store.tables import from_numpy, from_texts

_MOST_LINES = 40
_ORDER = (
    *(RuleStatus.ISSUES_FOUND, RuleStatus.ERROR, RuleStatus.IN_PROGRESS, RuleStatus.STOPPED),
    *(RuleStatus.NO_ISSUES_FOUND, RuleStatus.NOT_ENOUGH_DATA, RuleStatus.NOT_APPLICABLE),
)


@dataclass(frozen=True)
class Findings(Frame):
    """What was found, the worst first."""

    episodes: tuple[Episode, ...]
    actions: tuple[ActionRecord, ...] = ()  # that followed them

    def __iter__(self) -> Iterator[Episode]:
        return iter(self.episodes)

    def __len__(self) -> int:
        return len(self.episodes)

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst of them."""
        return max((one.severity for one in self.episodes), key=_rank, default=None)

    def documents(self) -> list[dict[str, Any]]:
        """As plain JSON values."""
        return [episode_document(one, self.actions) for one in self.episodes]

    def to_arrow(self) -> pa.Table:
        """One row per finding."""
        rows = self.documents()
        texts = ("rule", "severity", "message", "node", "device", "tensor", "advice")
        columns = {name: from_texts([str(row[name] or "") for row in rows]) for name in texts}
        columns["evidence"] = from_texts([json.dumps(row["evidence"]) for row in rows])
        for name in ("first_ns", "last_ns"):
            instants = np.array([getattr(one, name) for one in self.episodes], dtype=np.int64)
            columns[name.removesuffix("_ns")] = from_numpy(instants).cast(TIME)
        for name in ("first_step", "last_step"):
            steps = [getattr(one, name) for one in self.episodes]
            numbers = np.array([-1 if one is None else one for one in steps], dtype=np.int64)
            columns[name] = from_numpy(numbers)
        return pa.table(columns)

    def __repr__(self) -> str:
        if not self.episodes:
            return "nothing was found"
        rows = [("severity", "rule", "where", "what")]
        rows += [
            (one.severity.value, one.finding.rule, where(one), one.finding.message)
            for one in self.episodes[:_MOST_LINES]
        ]
        left = len(self.episodes) - _MOST_LINES
        return aligned(rows, left=4) + (f"\n… and {left} more" if left > 0 else "")


@dataclass(frozen=True)
class Judgement(Frame):
    """How every rule stands with a job."""

    job: str
    evaluations: tuple[Evaluation, ...]
    actions: tuple[ActionRecord, ...] = ()  # that followed what was found
    seen: Seen | None = None  # what of the job was seen from inside

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.evaluations)

    def __len__(self) -> int:
        return len(self.evaluations)

    def __getitem__(self, rule: str) -> Evaluation:
        """How one rule stands, by its name in CamelCase or snake_case."""
        for one in self.evaluations:
            if plain_name(one.rule) == plain_name(rule):
                return one
        asked = ", ".join(one.rule for one in self.evaluations) or "none"
        raise UsageError(f"Rule {rule!r} was not asked about job {self.job!r}. Asked: {asked}")

    @property
    def findings(self) -> Findings:
        """What was found, the worst first, then the earliest; each with what it explains."""
        found = root_first(episode for one in self.evaluations for episode in one.episodes)
        return Findings(found, self.actions)

    @property
    def verdict(self) -> str:
        """The whole in one sentence."""
        return verdict(self.evaluations, self.seen)

    @property
    def coverage(self) -> Coverage:
        """How many rules could judge the job, and what the others lacked."""
        return coverage_of(self.evaluations, self.seen)

    def documents(self) -> list[dict[str, Any]]:
        """As plain JSON values, as `sonde status --json` has them."""
        return [evaluation_document(one, self.actions) for one in self.evaluations]

    def to_arrow(self) -> pa.Table:
        """One row per rule."""
        rows = self.documents()
        texts = ("rule", "status", "setting", "reason")
        columns = {name: from_texts([str(row[name] or "") for row in rows]) for name in texts}
        for name in ("datapoints", "triggered"):
            columns[name] = from_numpy(np.array([row[name] for row in rows], dtype=np.int64))
        columns["seconds"] = from_numpy(np.array([one.seconds for one in self.evaluations]))
        return pa.table(columns)

    def _shown(self) -> pa.Table:
        """What was found first, what could not be asked last."""
        order = sorted(range(len(self)), key=lambda at: _place(self.evaluations[at]))
        columns = ["rule", "status", "triggered", "datapoints", "reason"]
        places = from_numpy(np.array(order, dtype=np.int64))
        return self.to_arrow().select(columns).take(places)

    @property
    def standings(self) -> str:
        """How each rule stands, as text."""
        counts = [
            (one.rule, one.status.value, f"{one.datapoints:,}", f"{one.triggered:,}")
            for one in self.evaluations
        ]
        lines = aligned([("rule", "status", "datapoints", "triggered"), *counts], left=2)
        whys = ["why", *(one.reason or "" for one in self.evaluations)]
        pairs = zip(lines.split("\n"), whys, strict=True)
        return "\n".join(f"{line}  {why}".rstrip() for line, why in pairs)

    def __repr__(self) -> str:
        found = self.findings
        return f"{self.standings}\n\n{found!r}" if len(found) else self.standings


def _place(evaluation: Evaluation) -> tuple[int, str]:
    return _ORDER.index(evaluation.status), evaluation.rule


def plain_name(rule: str) -> str:
    """A rule's name, however it is written."""
    return rule.replace("_", "").lower()


def _rank(severity: Severity) -> int:
    return severity.rank


def where(episode: Episode) -> str:
    """Whom and when it means, in a few words."""
    finding = episode.finding
    parts = []
    if finding.device:
        parts.append(f"{finding.device} of {finding.node}" if finding.node else finding.device)
    elif finding.node:
        parts.append(finding.node)
    if finding.worker is not None:
        parts.append(f"worker {finding.worker}")
    if episode.first_step is not None:
        parts.append(f"steps {episode.first_step}–{episode.last_step}")
    return ", ".join(parts)
