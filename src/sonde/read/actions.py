"""What followed findings: the actions that were taken, and what came of them."""

from collections.abc import Iterable
from typing import Any

from sonde.clock import iso
from sonde.read.documents import read_document
from sonde.records.action import ActionLog, ActionRecord
from sonde.store.backends import Backend
from sonde.store.layout import rules_key

ACTIONS = rules_key("actions")


def read_actions(backend: Backend, damages: list[str]) -> tuple[ActionRecord, ...]:
    """All actions of a job, the oldest first."""
    found = read_document(ActionLog, backend, ACTIONS, damages)
    return () if found is None else found.entries


def action_documents(actions: Iterable[ActionRecord], episode: str) -> list[dict[str, Any]]:
    """What followed one episode, as plain JSON values."""
    return [
        {
            "action": one.action,
            "status": one.status.value,
            "time": iso(one.time_ns),
            "message": one.message,
            "attempts": one.attempts,
        }
        for one in actions
        if one.episode == episode
    ]
