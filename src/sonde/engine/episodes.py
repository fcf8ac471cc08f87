"""Episodes: consecutive findings about the same problem, merged into one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sonde.engine.finding_times import time_of
from sonde.read.window import Window
from sonde.records.finding import Episode, Finding

# A finding that recurs within this many times `recovers_after` windows reopens its last episode.
_REOPENS_WITHIN = 2
_MIN_WINDOWS = 2


@dataclass
class Episodes:
    """The episodes of one rule: each opens, may get worse, and recovers or stays open.

    A problem that recurs soon reopens its episode: a value that oscillates around a threshold
    is one problem to a person, and one mail.
    """

    recovers_after: int
    all: dict[str, Episode] = field(default_factory=dict)  # by id, in order of opening
    quiet: dict[str, int] = field(default_factory=dict)  # windows without a finding, by id
    reopens: bool = True  # whether a problem that recurs soon reopens its episode

    def take(self, findings: Sequence[Finding], window: Window) -> list[Episode]:
        """Process the findings of one window, and return the episodes that changed.

        An episode recovers after a number of windows without a finding. Windows without data do
        not count.
        """
        if not findings and not self.all:  # the common case
            return []
        changed: dict[str, Episode] = {}
        for finding in findings:
            current = self._open().get(finding.about)
            if finding.is_over:
                changed |= {} if current is None else self._store(replace(current, is_open=False))
                continue
            complete = _complete(finding, window)
            current = current or self._reopened(finding.about)
            episode = self._opened(complete) if current is None else _continued(current, complete)
            changed |= self._store(episode)
            self.quiet[episode.id] = 0
        if window.datapoints:
            for episode in [each for each in self.all.values() if each.id not in changed]:
                if self._is_over(episode) and episode.is_open:
                    changed |= self._store(replace(episode, is_open=False))
        return list(changed.values())

    def _reopened(self, about: str) -> Episode | None:
        """The last episode about the same subject, if it recovered recently."""
        last = [each for each in self.all.values() if each.finding.about == about][-1:]
        limit = _REOPENS_WITHIN * max(self.recovers_after, _MIN_WINDOWS)
        is_near = self.reopens and bool(last) and self.quiet.get(last[0].id, limit) < limit
        return replace(last[0], is_open=True) if is_near else None

    def _opened(self, finding: Finding) -> Episode:
        before = sum(each.finding.about == finding.about for each in self.all.values())
        first, last = finding.steps or (None, None)
        first_ns, last_ns = finding.time_ns or (0, 0)
        return Episode(
            id=f"{finding.rule}:{finding.about}:{before + 1}",
            finding=finding,
            first_ns=first_ns,
            last_ns=last_ns,
            triggered=1,
            first_step=first,
            last_step=last,
        )

    def _open(self) -> dict[str, Episode]:
        return {episode.finding.about: episode for episode in self.all.values() if episode.is_open}

    def _store(self, episode: Episode) -> dict[str, Episode]:
        self.all[episode.id] = episode
        return {episode.id: episode}

    def _is_over(self, episode: Episode) -> bool:
        """Count a window without a finding; whether the episode has recovered."""
        self.quiet[episode.id] = self.quiet.get(episode.id, 0) + 1
        return bool(self.recovers_after) and self.quiet[episode.id] >= self.recovers_after


def plain(value: Any) -> Any:
    """The value as plain JSON types.

    Raises:
        TypeError: It contains a value that JSON cannot represent.
    """
    return json.loads(as_json(value))


def as_json(value: Any) -> str:
    """The value as JSON.

    Raises:
        TypeError: It contains a value that JSON cannot represent.
    """
    return _ENCODER.encode(value)


def _number(value: Any) -> Any:
    """Convert numpy numbers and arrays to Python."""
    convert = getattr(value, "tolist", None)
    if convert is None:
        raise TypeError(
            f"cannot store a {type(value).__name__}: use numbers, strings, lists and dicts"
        )
    return convert()


_ENCODER = json.JSONEncoder(default=_number, separators=(",", ":"))


def _complete(finding: Finding, window: Window) -> Finding:
    """Add the steps and time of the window if the rule has set none."""
    evidence: Mapping[str, Any] = plain(dict(finding.evidence))
    complete = replace(finding, steps=finding.steps or _steps(window), evidence=evidence)
    return replace(complete, time_ns=time_of(complete, window))


def _steps(window: Window) -> tuple[int, int] | None:
    steps = window.steps_range
    if steps is None or steps.start is None or steps.end is None:
        return None
    # the last window may extend beyond the last step
    tables = window.for_needs(()).steps() if window.is_last else ()
    last = max((int(table.steps[-1]) for table in tables), default=steps.end - 1)
    return steps.start, last


def _continued(episode: Episode, finding: Finding) -> Episode:
    is_as_bad = finding.severity.rank >= episode.severity.rank
    steps = [step for step in (episode.first_step, episode.last_step) if step is not None]
    steps += finding.steps or ()
    time_ns = finding.time_ns or (episode.first_ns, episode.last_ns)
    return replace(
        episode,
        finding=finding if is_as_bad else episode.finding,
        first_ns=min(episode.first_ns, time_ns[0]),
        last_ns=max(episode.last_ns, time_ns[1]),
        triggered=episode.triggered + 1,
        first_step=min(steps, default=None),
        last_step=max(steps, default=None),
    )
