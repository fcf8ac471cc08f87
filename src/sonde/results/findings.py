"""Findings and rule evaluations of a job, as data frames."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.errors import UsageError
from sonde.read.findings import episode_document, evaluation_document
from sonde.records.action import ActionRecord
from sonde.records.documents import FindingDocument, RuleDocument
from sonde.records.finding import Episode, Evaluation, RuleStatus, Severity
from sonde.records.seen import Seen
from sonde.results.rule_coverage import Coverage
from sonde.results.rule_verdict import coverage_of, root_first, verdict
from sonde.results.tables import TIME, Frame, aligned
from sonde.store.tables import from_numpy, from_texts

_MAX_LINES = 40
_ORDER = (
    *(RuleStatus.ISSUES_FOUND, RuleStatus.ERROR, RuleStatus.IN_PROGRESS, RuleStatus.STOPPED),
    *(RuleStatus.NO_ISSUES_FOUND, RuleStatus.NOT_ENOUGH_DATA, RuleStatus.NOT_APPLICABLE),
)


@dataclass(frozen=True)
class Findings(Frame):
    """Findings, the most severe first."""

    episodes: tuple[Episode, ...]
    actions: tuple[ActionRecord, ...] = ()  # triggered by the findings

    def __iter__(self) -> Iterator[Episode]:
        return iter(self.episodes)

    def __len__(self) -> int:
        return len(self.episodes)

    @property
    def worst(self) -> Severity | None:
        """The highest severity."""
        return max((episode.severity for episode in self.episodes), key=_rank, default=None)

    def documents(self) -> list[FindingDocument]:
        """As plain JSON values."""
        return [episode_document(episode, self.actions) for episode in self.episodes]

    def to_arrow(self) -> pa.Table:
        """One row per finding."""
        rows: Sequence[Mapping[str, Any]] = self.documents()
        texts = ("rule", "severity", "message", "node", "device", "tensor", "advice")
        columns = {name: from_texts([str(row[name] or "") for row in rows]) for name in texts}
        columns["evidence"] = from_texts([json.dumps(row["evidence"]) for row in rows])
        for name in ("first_ns", "last_ns"):
            instants = np.array(
                [getattr(episode, name) for episode in self.episodes], dtype=np.int64
            )
            columns[name.removesuffix("_ns")] = from_numpy(instants).cast(TIME)
        for name in ("first_step", "last_step"):
            steps = [getattr(episode, name) for episode in self.episodes]
            numbers = np.array([-1 if step is None else step for step in steps], dtype=np.int64)
            columns[name] = from_numpy(numbers)
        return pa.table(columns)

    def __repr__(self) -> str:
        if not self.episodes:
            return "No findings"
        rows = [("severity", "rule", "where", "message")]
        rows += [
            (episode.severity.value, episode.finding.rule, where(episode), episode.finding.message)
            for episode in self.episodes[:_MAX_LINES]
        ]
        remaining = len(self.episodes) - _MAX_LINES
        return aligned(rows, left_columns=4) + (
            f"\n… and {remaining} more" if remaining > 0 else ""
        )


@dataclass(frozen=True)
class Judgement(Frame):
    """The evaluation of every rule for a job."""

    job: str
    evaluations: tuple[Evaluation, ...]
    actions: tuple[ActionRecord, ...] = ()  # triggered by findings
    seen: Seen | None = None  # how much of the training was recorded

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.evaluations)

    def __len__(self) -> int:
        return len(self.evaluations)

    def __getitem__(self, rule: str) -> Evaluation:
        """The evaluation of a rule, by its name in CamelCase or snake_case."""
        for evaluation in self.evaluations:
            if plain_name(evaluation.rule) == plain_name(rule):
                return evaluation
        names = ", ".join(evaluation.rule for evaluation in self.evaluations) or "none"
        raise UsageError(
            f"Rule {rule!r} was not run for job {self.job!r}. Rules that were run: {names}"
        )

    @property
    def findings(self) -> Findings:
        """Findings by severity and time, each followed by its consequences."""
        episodes = root_first(
            episode for evaluation in self.evaluations for episode in evaluation.episodes
        )
        return Findings(episodes, self.actions)

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        return verdict(self.evaluations, self.seen)

    @property
    def coverage(self) -> Coverage:
        """How many rules had enough data, and what the others lack."""
        return coverage_of(self.evaluations, self.seen)

    def documents(self) -> list[RuleDocument]:
        """As plain JSON values, as in `sonde status --json`."""
        return [evaluation_document(evaluation, self.actions) for evaluation in self.evaluations]

    def to_arrow(self) -> pa.Table:
        """One row per rule."""
        rows: Sequence[Mapping[str, Any]] = self.documents()
        texts = ("rule", "status", "setting", "reason")
        columns = {name: from_texts([str(row[name] or "") for row in rows]) for name in texts}
        for name in ("datapoints", "triggered"):
            columns[name] = from_numpy(np.array([row[name] for row in rows], dtype=np.int64))
        columns["seconds"] = from_numpy(
            np.array([evaluation.seconds for evaluation in self.evaluations])
        )
        return pa.table(columns)

    def _shown(self) -> pa.Table:
        """Rules with findings first, rules that do not apply last."""
        order = sorted(range(len(self)), key=lambda at: _sort_key(self.evaluations[at]))
        columns = ["rule", "status", "triggered", "datapoints", "reason"]
        indices = from_numpy(np.array(order, dtype=np.int64))
        return self.to_arrow().select(columns).take(indices)

    @property
    def standings(self) -> str:
        """The status of each rule, as a text table."""
        counts = [
            (
                evaluation.rule,
                evaluation.status.value,
                f"{evaluation.datapoints:,}",
                f"{evaluation.triggered:,}",
            )
            for evaluation in self.evaluations
        ]
        lines = aligned([("rule", "status", "samples", "triggered"), *counts], left_columns=2)
        reasons = ["reason", *(evaluation.reason or "" for evaluation in self.evaluations)]
        pairs = zip(lines.split("\n"), reasons, strict=True)
        return "\n".join(f"{line}  {why}".rstrip() for line, why in pairs)

    def __repr__(self) -> str:
        findings = self.findings
        return f"{self.standings}\n\n{findings!r}" if len(findings) else self.standings


def _sort_key(evaluation: Evaluation) -> tuple[int, str]:
    return _ORDER.index(evaluation.status), evaluation.rule


def plain_name(rule: str) -> str:
    """A rule's name in lower case without underscores, for comparison."""
    return rule.replace("_", "").lower()


def _rank(severity: Severity) -> int:
    return severity.rank


def where(episode: Episode) -> str:
    """Tensor, device, node, worker and steps of a finding, as text."""
    finding = episode.finding
    labels = [finding.tensor] if finding.tensor else []
    if finding.device:
        labels.append(f"{finding.device} of {finding.node}" if finding.node else finding.device)
    elif finding.node:
        labels.append(finding.node)
    if finding.worker is not None:
        labels.append(f"worker {finding.worker}")
    if episode.first_step is not None:
        labels.append(f"steps {episode.first_step}–{episode.last_step}")
    return ", ".join(labels)
