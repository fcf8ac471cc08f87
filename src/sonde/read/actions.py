"""Actions taken on findings, and their outcomes."""

from collections.abc import Iterable

from sonde.clock import iso
from sonde.read.documents import read_document
from sonde.records.action import ActionLog, ActionRecord
from sonde.records.documents import ActionDocument
from sonde.store.backends import Backend
from sonde.store.layout import rules_key

ACTIONS = rules_key("actions")


def read_actions(backend: Backend, damages: list[str]) -> tuple[ActionRecord, ...]:
    """All actions of a job, oldest first."""
    log = read_document(ActionLog, backend, ACTIONS, damages)
    return () if log is None else log.entries


def action_documents(actions: Iterable[ActionRecord], episode: str) -> list[ActionDocument]:
    """The actions taken on one episode, as plain JSON values."""
    return [
        {
            "action": action.action,
            "status": action.status.value,
            "time": iso(action.time_ns),
            "message": action.message,
            "attempts": action.attempts,
        }
        for action in actions
        if action.episode == episode
    ]
