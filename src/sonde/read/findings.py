"""Recorded results of rules: their status and findings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sonde.clock import iso
from sonde.formats import pluralize
from sonde.read.actions import action_documents
from sonde.read.causes import link_causes
from sonde.read.documents import read_document
from sonde.records.action import ActionRecord
from sonde.records.documents import FindingDocument, RuleDocument
from sonde.records.finding import Episode, Evaluation, Evaluations
from sonde.store.backends import Backend
from sonde.store.damage import MISSING
from sonde.store.facts import build_record
from sonde.store.format import FINDINGS
from sonde.store.layout import FINDINGS_FOLDER, rules_key
from sonde.store.reader import FolderReader

_NOT_AN_EPISODE = (KeyError, TypeError, ValueError, AttributeError, RecursionError)


def read_evaluations(
    backend: Backend, damages: list[str], reader: "EpisodesReader | None" = None
) -> tuple[Evaluation, ...]:
    """The recorded evaluation of each rule with its episodes.

    Args:
        backend: The job.
        damages: Receives descriptions of damaged files.
        reader: A reader of the episodes to reuse between calls.
    """
    key = rules_key("evaluations")
    recorded = read_document(Evaluations, backend, key, damages)
    if recorded is None:
        # rules write their progress after their results
        if backend.exists(rules_key("progress")) and not backend.exists(key):
            backend.ledger.report(key, f"{key} is missing", reason=MISSING)
        return ()
    reader = reader or EpisodesReader(backend)
    episodes = reader.read()
    damages += reader.damages
    _report_missing(backend, recorded, episodes)
    return link_causes(
        [
            replace(
                evaluation,
                episodes=tuple(
                    episode for episode in episodes if episode.id in evaluation.episode_ids
                ),
                episode_ids=(),
            )
            for evaluation in recorded.rules
        ]
    )


def _report_missing(
    backend: Backend, evaluations: Evaluations, episodes: Sequence[Episode]
) -> None:
    """Report findings that rules recorded and that are missing."""
    recorded = {episode.id for episode in episodes}
    for evaluation in evaluations.rules:
        missing = [episode for episode in evaluation.episode_ids if episode not in recorded]
        if missing:
            total = pluralize(len(evaluation.episode_ids), "finding")
            text = f"{evaluation.rule}: {len(missing)} of {total} missing"
            backend.ledger.report(FINDINGS_FOLDER, text, reason=MISSING)


def read_episodes(backend: Backend, damages: list[str]) -> tuple[Episode, ...]:
    """All episodes in their latest version, by start time."""
    reader = EpisodesReader(backend)
    episodes = reader.read()
    damages += reader.damages
    return episodes


class EpisodesReader:
    """Reads the episodes of a growing job; decodes only when rows were added."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._reader = FolderReader(backend, FINDINGS_FOLDER, FINDINGS)
        self._rows = 0
        self._episodes: tuple[Episode, ...] = ()

    @property
    def damages(self) -> list[str]:
        """Damage found so far."""
        return self._reader.damages

    def read(self) -> tuple[Episode, ...]:
        """All episodes in their latest version, by start time."""
        self._reader.refresh()
        extent = self._reader.extent
        rows = extent.rows if extent else 0
        if rows != self._rows:
            self._rows = rows
            by_id = {}
            for text in self._reader.rows(columns=("record",))["record"].to_pylist():
                try:
                    episode = _episode(json.loads(text))
                except _NOT_AN_EPISODE as error:
                    self._backend.ledger.report(FINDINGS_FOLDER, f"A finding is damaged: {error}")
                    continue
                by_id[episode.id] = episode
            self._episodes = tuple(sorted(by_id.values(), key=lambda item: item.first_ns))
        return self._episodes


def _outcome(episode: Episode) -> str:
    """The outcome of an episode: `ongoing`, or when it was resolved."""
    if episode.is_open:
        return "ongoing"
    return "resolved" if episode.last_step is None else f"resolved at step {episode.last_step + 1}"


def episode_document(episode: Episode, actions: Sequence[ActionRecord] = ()) -> FindingDocument:
    """An episode with its actions, as in `sonde status --json`."""
    finding = episode.finding
    first_step, last_step = episode.first_step, episode.last_step
    return {
        "id": episode.id,
        "rule": finding.rule,
        "message": finding.message,
        "severity": finding.severity.value,
        "advice": finding.advice,
        "step": None if first_step is None or last_step is None else [first_step, last_step],
        "time": [iso(episode.first_ns), iso(episode.last_ns)],
        "node": finding.node,
        "worker": finding.worker,
        "device": finding.device,
        "tensor": finding.tensor,
        "cause": finding.cause,
        "triggered": episode.triggered,
        "is_open": episode.is_open,
        "evidence": dict(finding.evidence),
        "improvement": asdict(finding.improvement) if finding.improvement else None,
        "actions": action_documents(actions, episode.id),
        "outcome": _outcome(episode),
    }


def evaluation_document(
    evaluation: Evaluation, actions: Sequence[ActionRecord] = ()
) -> RuleDocument:
    """A rule's evaluation with its actions, as plain JSON values."""
    return {
        "rule": evaluation.rule,
        "status": evaluation.status.value,
        "setting": evaluation.setting.value,
        "triggered": evaluation.triggered,
        "datapoints": evaluation.datapoints,
        "parameters": dict(evaluation.parameters),
        "description": evaluation.description,
        "recommendation": evaluation.recommendation,
        "reason": evaluation.reason,
        "traceback": evaluation.traceback,
        "seconds": round(evaluation.seconds, 3),
        "summary": dict(evaluation.summary),
        "missing": list(evaluation.missing),
        "shortfall": asdict(evaluation.shortfall) if evaluation.shortfall else None,
        "findings": [episode_document(episode, actions) for episode in evaluation.episodes],
    }


def _episode(record: Mapping[str, Any]) -> Episode:
    return build_record(Episode, record)
