"""From findings to actions: once for each episode, with a pause in between, and kept in the store.

What was done lies in the store, so that a watcher that is started again does not do it twice.
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

_MOST_ENTRIES = 1000
_TAKEN = (ActionStatus.WAITING, ActionStatus.DONE, ActionStatus.FAILED)

Key = tuple[str, str]  # an action and an episode


class Dispatch:
    """Lets actions follow what rules find."""

    def __init__(
        self, backend: Backend, clock: Clock, plan: ActionPlan, *, is_in_background: bool = True
    ) -> None:
        """Does nothing yet: until something is taken, another one may be at work.

        Args:
            backend: The job.
            clock: The time.
            plan: Which actions follow which rules.
            is_in_background: Whether actions are done in threads, or when `work` is called.
        """
        self._backend = backend
        self._clock = clock
        self._plan = plan
        self._is_in_background = is_in_background
        self._guard = Guard()
        self._lock = threading.RLock()
        self._known: dict[Key, ActionRecord] | None = None
        self._looked_at: dict[str, Episode] = {}  # again, by id: held back, or not dealt with yet
        self._is_changed = False
        self._job = ""
        self._since_ns = 0  # what was found before does not concern the job that runs now
        self._channels = {
            name: Channel(action, clock, self._came_out) for name, action in plan.actions.items()
        }

    @property
    def is_idle(self) -> bool:
        """Whether no rule has an action."""
        return self._plan.is_empty

    def take(self, episodes: Iterable[Episode]) -> None:
        """What has been found, maybe nothing; neither waits nor raises."""
        self._guard.attempt("actions", lambda: self._take(episodes), None)

    def work(self) -> None:
        """Does what is due here and now, where nothing works in the background."""
        for channel in self._channels.values():
            channel.work()

    def close(self, seconds: float) -> None:
        """The job is over: what has not worked is tried once more, for at most so long."""
        deadline = self._clock.seconds() + seconds
        for channel in self._channels.values():
            channel.hurry()
        for channel in self._channels.values():
            channel.finish(max(0.0, deadline - self._clock.seconds()))

    def _load(self) -> dict[Key, ActionRecord]:
        """Goes on where the last watcher stopped; what it has begun and not done is done again."""
        damages: list[str] = []
        facts = read_job(self._backend, self._clock.now_ns())
        self._job = facts.name
        self._since_ns = min((one.attempt.start_ns for one in facts.latest), default=0)
        known = {(one.action, one.episode): one for one in read_actions(self._backend, damages)}
        left = {key for key, one in known.items() if one.status is ActionStatus.WAITING}
        episodes = {one.id: one for one in read_episodes(self._backend, damages)} if left else {}
        for name, id_ in left:
            action, episode = self._plan.actions.get(name), episodes.get(id_)
            is_of_before = action and self._is_of_before(action, known[name, id_])
            if action is not None and episode is not None and not is_of_before:
                self._put(action, episode)
        return known

    def _take(self, episodes: Iterable[Episode]) -> None:
        with self._lock:
            self._looked_at |= {one.id: one for one in episodes}  # as each was last told
            if self._known is None:
                self._known = self._load()
            held = set()
            for episode in self._looked_at.values():
                for action in self._plan.after(episode.finding.rule):
                    status, why = self._decision(action, episode)
                    if status is not None:
                        self._note(action, episode, status, why)
                    if status is ActionStatus.WAITING:
                        self._put(action, episode)
                    if status is ActionStatus.HELD_BACK and episode.is_open:
                        held.add(episode.id)
            self._looked_at = {id_: self._looked_at[id_] for id_ in held}
            if self._is_changed:
                self._guard.attempt("actions", self._save, None)

    def _decision(self, action: Action, episode: Episode) -> tuple[ActionStatus | None, str]:
        """Whether the action follows now, or what else becomes of it; None: nothing new."""
        known = self._records.get((action.name, episode.id))
        is_taken = known is not None and known.status in _TAKEN
        if known is not None and is_taken and not self._is_of_before(action, known):
            return None, ""
        if action.is_on_the_job and not self._is_present(episode):
            return None, ""
        least = action.min_severity
        if episode.severity.rank < least.rank:
            why = f"{episode.severity.value} is below {least.value}, which is min_severity"
            # who waits for something to happen to the job wants to know
            return (ActionStatus.REFUSED, why) if action.is_on_the_job else (None, "")
        if self._clock.now_ns() < self._quiet_until_ns(action, episode):
            why = "until the cool-down is over" if episode.is_open else "it was over before that"
            return ActionStatus.HELD_BACK, why
        done = action.done_before(self._occasion(episode))
        if done:
            return ActionStatus.DONE, done
        why_not = self._objection(action)
        return (ActionStatus.REFUSED, why_not) if why_not else (ActionStatus.WAITING, "")

    @property
    def _records(self) -> dict[Key, ActionRecord]:
        assert self._known is not None
        return self._known

    def _is_of_before(self, action: Action, record: ActionRecord) -> bool:
        """Whether it was done to an attempt that is over, and is not done to this one."""
        return action.is_on_the_job and record.time_ns < self._since_ns

    def _is_present(self, episode: Episode) -> bool:
        return episode.is_open and episode.last_ns >= self._since_ns

    def _objection(self, action: Action) -> str:
        """Why nothing more is done to the job; empty where there is no reason."""
        if not action.is_on_the_job:
            return ""
        before = [
            one
            for one in self._records.values()
            if one.action == action.name
            and one.status in (ActionStatus.WAITING, ActionStatus.DONE)
            and one.time_ns >= self._since_ns
        ]
        if action.is_once and before:
            return f"it follows {before[0].rule} already"
        is_over = read_job(self._backend, self._clock.now_ns()).state.is_over
        return "the job is over" if is_over else ""

    def _quiet_until_ns(self, action: Action, episode: Episode) -> int:
        """The end of the pause since the action last followed the same rule, if that was as bad."""
        times = [
            one.time_ns
            for one in self._records.values()
            if (one.action, one.rule) == (action.name, episode.finding.rule)
            and one.status in _TAKEN
            and one.severity.rank >= episode.severity.rank
        ]
        return max(times, default=0) + int(action.cool_down_seconds * NANOSECONDS) if times else 0

    def _occasion(self, episode: Episode) -> Occasion:
        place = (self._job, episode, self._backend, self._clock)
        return Occasion(*place, since_ns=self._since_ns)

    def _put(self, action: Action, episode: Episode) -> None:
        channel = self._channels[action.name]
        channel.put(self._occasion(episode))
        if self._is_in_background:
            channel.start()

    def _came_out(self, action: Action, outcome: Outcome) -> None:
        status = ActionStatus.DONE if outcome.is_done else ActionStatus.FAILED
        status = status if outcome.is_final else ActionStatus.WAITING
        with self._lock:
            self._note(action, outcome.occasion.episode, status, outcome.message, outcome.attempts)
            self._guard.attempt("actions", self._save, None)

    def _note(
        self,
        action: Action,
        episode: Episode,
        status: ActionStatus,
        message: str = "",
        attempts: int = 0,
    ) -> None:
        key = (action.name, episode.id)
        known = self._records.get(key)
        if known is not None and (known.status, known.message) == (status, message):
            return
        finding = episode.finding
        self._records.pop(key, None)  # what is told last stands last
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
        latest = tuple(self._records.values())[-_MOST_ENTRIES:]
        self._backend.write(ACTIONS, encode_facts(ActionLog(latest), ACTIONS))
        self._is_changed = False
