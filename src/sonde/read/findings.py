"""What rules found while they watched a job, and how they stand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sonde.clock import iso
from sonde.read.actions import action_documents
from sonde.read.causes import linked
from sonde.read.documents import read_document
from sonde.records.action import ActionRecord
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
    """How each rule stands, with its episodes; nothing where no rule has been recorded.

    Args:
        backend: The job.
        damages: What is found damaged is added to it.
        reader: Of the episodes, for who looks again and again.
    """
    key = rules_key("evaluations")
    found = read_document(Evaluations, backend, key, damages)
    if found is None:
        # rules note their progress after their results
        if backend.exists(rules_key("progress")) and not backend.exists(key):
            backend.ledger.report(key, f"{key} is missing", reason=MISSING)
        return ()
    reader = reader or EpisodesReader(backend)
    episodes = reader.read()
    damages += reader.damages
    _report_missing(backend, found, episodes)
    return linked(
        [
            replace(one, episodes=tuple(own for own in episodes if own.id in one.told), told=())
            for one in found.rules
        ]
    )


def _report_missing(
    backend: Backend, evaluations: Evaluations, episodes: Sequence[Episode]
) -> None:
    """Reports findings that rules speak of and that are not there."""
    known = {one.id for one in episodes}
    for evaluation in evaluations.rules:
        missing = [one for one in evaluation.told if one not in known]
        if missing:
            text = f"{len(missing)} of {len(evaluation.told)} findings of {evaluation.rule}"
            text += " are missing"
            backend.ledger.report(FINDINGS_FOLDER, text, reason=MISSING)


def read_episodes(backend: Backend, damages: list[str]) -> tuple[Episode, ...]:
    """All episodes as they were last told, in the order in which they began."""
    reader = EpisodesReader(backend)
    found = reader.read()
    damages += reader.damages
    return found


class EpisodesReader:
    """The episodes of a job that still grows; where nothing has come, nothing is decoded."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._reader = FolderReader(backend, FINDINGS_FOLDER, FINDINGS)
        self._rows = 0
        self._episodes: tuple[Episode, ...] = ()

    @property
    def damages(self) -> list[str]:
        """What was found damaged so far."""
        return self._reader.damages

    def read(self) -> tuple[Episode, ...]:
        """All of them, as they were last told, in the order in which they began."""
        self._reader.refresh()
        extent = self._reader.extent
        rows = extent.rows if extent else 0
        if rows != self._rows:
            self._rows = rows
            found = {}
            for text in self._reader.rows(columns=("record",))["record"].to_pylist():
                try:
                    episode = _episode(json.loads(text))
                except _NOT_AN_EPISODE as error:
                    self._backend.ledger.report(FINDINGS_FOLDER, f"a finding is damaged: {error}")
                    continue
                found[episode.id] = episode
            self._episodes = tuple(sorted(found.values(), key=lambda one: one.first_ns))
        return self._episodes


def outcome_of(document: Mapping[str, Any]) -> str:
    """Whether what was found goes on, in words: `ongoing`, or when it was resolved."""
    if document["is_open"]:
        return "ongoing"
    if document["step"]:
        return f"resolved at step {document['step'][1] + 1}"
    return "resolved"


def episode_document(episode: Episode, actions: Sequence[ActionRecord] = ()) -> dict[str, Any]:
    """An episode, and which of the actions followed it, as `sonde status --json` has it."""
    finding = episode.finding
    steps = None if episode.first_step is None else [episode.first_step, episode.last_step]
    document: dict[str, Any] = {
        "id": episode.id,
        "rule": finding.rule,
        "message": finding.message,
        "severity": finding.severity.value,
        "advice": finding.advice,
        "step": steps,
        "time": [iso(episode.first_ns), iso(episode.last_ns)],
        "node": finding.node,
        "worker": finding.worker,
        "device": finding.device,
        "tensor": finding.tensor,
        "cause": finding.cause,
        "triggered": episode.triggered,
        "is_open": episode.is_open,
        "evidence": dict(finding.evidence),
        "actions": action_documents(actions, episode.id),
    }
    return {**document, "outcome": outcome_of(document)}


def evaluation_document(
    evaluation: Evaluation, actions: Sequence[ActionRecord] = ()
) -> dict[str, Any]:
    """How a rule stands, and what followed its findings, as plain JSON values."""
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
        "findings": [episode_document(one, actions) for one in evaluation.episodes],
    }


def _episode(record: Mapping[str, Any]) -> Episode:
    return build_record(Episode, record)
