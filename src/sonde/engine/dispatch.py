"""Performs actions for findings: once per episode, with a cool-down in between.

The log of actions is in the store, so that a restarted monitor does not repeat them.
"""

import threading
from collections.abc import Iterable

from sonde.actions import Action, Occasion
from sonde.clock import NANOSECONDS, Clock
from sonde.engine.action_channel import Channel, Outcome
from sonde.engine.action_plan import ActionPlan
from sonde.guard import Guard
from sonde.read.actions import ACTIONS, read_actions
from sonde.read.findings import read_episodes
from sonde.read.jobs import read_job
from sonde.records.action import ActionLog, ActionRecord, ActionStatus
from sonde.records.finding import Episode
from sonde.store.backends import Backend
from sonde.store.facts import encode_facts

_MAX_ENTRIES = 1000
_PERFORMED = (ActionStatus.WAITING, ActionStatus.DONE, ActionStatus.FAILED)

Key = tuple[str, str]  # an action and an episode


class Dispatch:
    """Performs the planned actions when rules find something."""

    def __init__(
        self, backend: Backend, clock: Clock, plan: ActionPlan, *, is_in_background: bool = True
    ) -> None:
        """Create a dispatcher, which does nothing until the first `take`.

        Args:
            backend: The job.
            clock: The source of time.
            plan: Which actions follow which rules.
            is_in_background: Perform actions in threads; otherwise when `work` is called.
        """
        self._backend = backend
        self._clock = clock
        self._plan = plan
        self._is_in_background = is_in_background
        self._guard = Guard()
        self._lock = threading.RLock()
        self._log: dict[Key, ActionRecord] | None = None
        self._pending: dict[str, Episode] = {}  # by id: held back, or not processed yet
        self._is_changed = False
        self._job = ""
        self._since_ns = 0  # start of the current attempt; earlier findings do not affect it
        self._channels = {
            name: Channel(action, clock, self._record_outcome)
            for name, action in plan.actions.items()
        }

    @property
    def is_idle(self) -> bool:
        """Whether no rule has an action."""
        return self._plan.is_empty

    def take(self, episodes: Iterable[Episode]) -> None:
        """Process changed episodes, if any; neither blocks nor raises."""
        self._guard.attempt("actions", lambda: self._take(episodes), None)

    def work(self) -> None:
        """Perform due actions in this thread, if there are no background threads."""
        for channel in self._channels.values():
            channel.work()

    def close(self, seconds: float) -> None:
        """Retry what has failed once more, up to a time limit, because the job has ended."""
        deadline = self._clock.seconds() + seconds
        for channel in self._channels.values():
            channel.retry_now()
        for channel in self._channels.values():
            channel.finish(max(0.0, deadline - self._clock.seconds()))

    def _load(self) -> dict[Key, ActionRecord]:
        """Continue where the last monitor stopped; unfinished actions are performed again."""
        damages: list[str] = []
        facts = read_job(self._backend, self._clock.now_ns())
        self._job = facts.name
        self._since_ns = min((node.attempt.start_ns for node in facts.latest), default=0)
        records = {
            (record.action, record.episode): record
            for record in read_actions(self._backend, damages)
        }
        waiting = {key for key, record in records.items() if record.status is ActionStatus.WAITING}
        episodes = (
            {each.id: each for each in read_episodes(self._backend, damages)} if waiting else {}
        )
        for name, id_ in waiting:
            action, episode = self._plan.actions.get(name), episodes.get(id_)
            is_outdated = action and self._is_outdated(action, records[name, id_])
            if action is not None and episode is not None and not is_outdated:
                self._put(action, episode)
        return records

    def _take(self, episodes: Iterable[Episode]) -> None:
        with self._lock:
            self._pending |= {each.id: each for each in episodes}
            if self._log is None:
                self._log = self._load()
            held_back = set()
            for episode in self._pending.values():
                for action in self._plan.after(episode.finding.rule):
                    status, reason = self._decision(action, episode)
                    if status is not None:
                        self._add_record(action, episode, status, reason)
                    if status is ActionStatus.WAITING:
                        self._put(action, episode)
                    if status is ActionStatus.HELD_BACK and episode.is_open:
                        held_back.add(episode.id)
            self._pending = {id_: self._pending[id_] for id_ in held_back}
            if self._is_changed:
                self._guard.attempt("actions", self._save, None)

    def _decision(self, action: Action, episode: Episode) -> tuple[ActionStatus | None, str]:
        """Whether to perform an action now, and why not; None if nothing changes."""
        record = self._records.get((action.name, episode.id))
        is_performed = record is not None and record.status in _PERFORMED
        if record is not None and is_performed and not self._is_outdated(action, record):
            return None, ""
        if action.affects_job and not self._is_current(episode):
            return None, ""
        minimum = action.min_severity
        if episode.severity.rank < minimum.rank:
            reason = f"severity {episode.severity.value} is below min_severity {minimum.value}"
            # actions on the job are recorded as refused, so that users know why nothing happened
            return (ActionStatus.REFUSED, reason) if action.affects_job else (None, "")
        if self._clock.now_ns() < self._cool_down_end_ns(action, episode):
            reason = (
                "waiting for the cool-down" if episode.is_open else "resolved during the cool-down"
            )
            return ActionStatus.HELD_BACK, reason
        done = action.already_done(self._occasion(episode))
        if done:
            return ActionStatus.DONE, done
        refusal = self._refusal(action)
        return (ActionStatus.REFUSED, refusal) if refusal else (ActionStatus.WAITING, "")

    @property
    def _records(self) -> dict[Key, ActionRecord]:
        assert self._log is not None
        return self._log

    def _is_outdated(self, action: Action, record: ActionRecord) -> bool:
        """Whether a record is about an earlier attempt, so that the action applies again."""
        return action.affects_job and record.time_ns < self._since_ns

    def _is_current(self, episode: Episode) -> bool:
        return episode.is_open and episode.last_ns >= self._since_ns

    def _refusal(self, action: Action) -> str:
        """Why the action must not be performed on the job; empty if it may."""
        if not action.affects_job:
            return ""
        earlier = [
            record
            for record in self._records.values()
            if record.action == action.name
            and record.status in (ActionStatus.WAITING, ActionStatus.DONE)
            and record.time_ns >= self._since_ns
        ]
        if action.runs_once and earlier:
            return f"already performed for {earlier[0].rule}"
        is_over = read_job(self._backend, self._clock.now_ns()).state.is_over
        return "the job has ended" if is_over else ""

    def _cool_down_end_ns(self, action: Action, episode: Episode) -> int:
        """When the cool-down for this rule ends, unless the new finding is more severe."""
        times = [
            record.time_ns
            for record in self._records.values()
            if (record.action, record.rule) == (action.name, episode.finding.rule)
            and record.status in _PERFORMED
            and record.severity.rank >= episode.severity.rank
        ]
        return max(times, default=0) + int(action.cool_down_seconds * NANOSECONDS) if times else 0

    def _occasion(self, episode: Episode) -> Occasion:
        return Occasion(self._job, episode, self._backend, self._clock, since_ns=self._since_ns)

    def _put(self, action: Action, episode: Episode) -> None:
        channel = self._channels[action.name]
        channel.put(self._occasion(episode))
        if self._is_in_background:
            channel.start()

    def _record_outcome(self, action: Action, outcome: Outcome) -> None:
        status = ActionStatus.DONE if outcome.is_done else ActionStatus.FAILED
        status = status if outcome.is_final else ActionStatus.WAITING
        with self._lock:
            self._add_record(
                action, outcome.occasion.episode, status, outcome.message, outcome.attempts
            )
            self._guard.attempt("actions", self._save, None)

    def _add_record(
        self,
        action: Action,
        episode: Episode,
        status: ActionStatus,
        message: str = "",
        attempts: int = 0,
    ) -> None:
        key = (action.name, episode.id)
        record = self._records.get(key)
        if record is not None and (record.status, record.message) == (status, message):
            return
        finding = episode.finding
        self._records.pop(key, None)  # keep the log in order of time
        self._records[key] = ActionRecord(
            action=action.name,
            episode=episode.id,
            rule=finding.rule,
            severity=episode.severity,
            status=status,
            time_ns=self._clock.now_ns(),
            message=message,
            attempts=attempts,
        )
        self._is_changed = True

    def _save(self) -> None:
        latest = tuple(self._records.values())[-_MAX_ENTRIES:]
        self._backend.write(ACTIONS, encode_facts(ActionLog(latest), ACTIONS))
        self._is_changed = False
