"""Episodes: findings that follow each other window after window are one thing to a person."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sonde.engine.finding_times import time_of
from sonde.read.window import Window
from sonde.records.finding import Episode, Finding

# Found again within so many times the windows after which it counts as over, it is the same one.
_REOPENS_WITHIN = 2
_LEAST_WINDOWS = 2


@dataclass
class Episodes:
    """The episodes of one rule: each opens, may get worse, and recovers or stays.

    What comes again soon is no new episode: a value that goes back and forth over a threshold is
    one thing to a person, and one mail.
    """

    recovers_after: int
    all: dict[str, Episode] = field(default_factory=dict)  # by id, in the order of opening
    quiet: dict[str, int] = field(default_factory=dict)  # windows without it, by id
    reopens: bool = True  # whether what comes again soon is the same episode

    def take(self, findings: Sequence[Finding], window: Window) -> list[Episode]:
        """What a window has changed.

        An episode that is not found again is over after some windows in which the rule looked at
        anything at all: a window without data says nothing.
        """
        if not findings and not self.all:  # as it mostly is
            return []
        changed: dict[str, Episode] = {}
        for finding in findings:
            known = self._open().get(finding.about)
            if finding.is_over:
                changed |= {} if known is None else self._keep(replace(known, is_open=False))
                continue
            complete = _complete(finding, window)
            known = known or self._reopened(finding.about)
            episode = self._opened(complete) if known is None else _gone_on(known, complete)
            changed |= self._keep(episode)
            self.quiet[episode.id] = 0
        if window.datapoints:
            for episode in [one for one in self.all.values() if one.id not in changed]:
                if self._is_over(episode) and episode.is_open:
                    changed |= self._keep(replace(episode, is_open=False))
        return list(changed.values())

    def _reopened(self, about: str) -> Episode | None:
        """The last episode about the same, where it has not been quiet for long."""
        last = [one for one in self.all.values() if one.finding.about == about][-1:]
        limit = _REOPENS_WITHIN * max(self.recovers_after, _LEAST_WINDOWS)
        is_near = self.reopens and bool(last) and self.quiet.get(last[0].id, limit) < limit
        return replace(last[0], is_open=True) if is_near else None

    def _opened(self, finding: Finding) -> Episode:
        before = sum(one.finding.about == finding.about for one in self.all.values())
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
        return {one.finding.about: one for one in self.all.values() if one.is_open}

    def _keep(self, episode: Episode) -> dict[str, Episode]:
        self.all[episode.id] = episode
        return {episode.id: episode}

    def _is_over(self, episode: Episode) -> bool:
        """Counts another window without it; a rule may say by itself that it is over."""
        self.quiet[episode.id] = self.quiet.get(episode.id, 0) + 1
        return bool(self.recovers_after) and self.quiet[episode.id] >= self.recovers_after


def plain(value: Any) -> Any:
    """The value in plain JSON, as it comes back from a file.

    Raises:
        TypeError: It holds something that JSON has no word for.
    """
    return json.loads(as_json(value))


def as_json(value: Any) -> str:
    """The value as JSON.

    Raises:
        TypeError: It holds something that JSON has no word for.
    """
    return _ENCODER.encode(value)


def _number(value: Any) -> Any:
    """Numbers and arrays of numpy as Python has them."""
    convert = getattr(value, "tolist", None)
    if convert is None:
        raise TypeError(
            f"a {type(value).__name__} cannot be kept: use numbers, texts, lists, dicts"
        )
    return convert()


_ENCODER = json.JSONEncoder(default=_number, separators=(",", ":"))


def _complete(finding: Finding, window: Window) -> Finding:
    """With the window's place where the rule has not said one."""
    evidence: Mapping[str, Any] = plain(dict(finding.evidence))
    placed = replace(finding, steps=finding.steps or _steps(window), evidence=evidence)
    return replace(placed, time_ns=time_of(placed, window))


def _steps(window: Window) -> tuple[int, int] | None:
    steps = window.steps_range
    if steps is None or steps.start is None or steps.end is None:
        return None
    # the last window of a training may be wider than what is left of it
    tables = window.for_needs(()).steps() if window.is_last else ()
    last = max((int(one.steps[-1]) for one in tables), default=steps.end - 1)
    return steps.start, last


def _gone_on(known: Episode, finding: Finding) -> Episode:
    is_as_bad = finding.severity.rank >= known.severity.rank
    steps = [one for one in (known.first_step, known.last_step) if one is not None]
    steps += finding.steps or ()
    time_ns = finding.time_ns or (known.first_ns, known.last_ns)
    return replace(
        known,
        finding=finding if is_as_bad else known.finding,
        first_ns=min(known.first_ns, time_ns[0]),
        last_ns=max(known.last_ns, time_ns[1]),
        triggered=known.triggered + 1,
        first_step=min(steps, default=None),
        last_step=max(steps, default=None),
    )
