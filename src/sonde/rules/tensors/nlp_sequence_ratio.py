"""NLPSequenceRatio: one token, such as padding, dominates the input sequences."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from sonde.errors import UsageError
from sonde.formats import format_percent
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observations.batches import TokenCounts
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent, Regex
from sonde.rules._rule import Rule, Section, State

_KIND = "input-tokens"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of NLPSequenceRatio.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_tokens: int = 1000
    min_inspections: int = 3
    min_kinds: int = 4  # different tokens; with fewer, each has a large share
    vocabulary_id: int = 16  # token IDs from here on are words, even if there are few of them
    unnamed_percent: float = 75.0  # of the tokens that are not in `token_values`
    max_candidates: int = 8  # tokens counted because they were the most frequent of an inspection


LIMITS = Calibration()


class NLPSequenceRatio(Rule):
    """One token takes up too much of the input sequences.

    Why it matters: Computing on padding is wasted, and the model learns nothing from unknown words.
    How it decides:
    - The share of one of `token_values` among the tokens that enter an embedding exceeds its
      threshold in `token_thresholds_percent`.
    - Unless you set them: also any token that makes up 75% of all tokens other than 0. This is
      `info` if no token ID is 16 or higher.
    - Needs 3 inspections and 1,000 tokens. Classic: any inspection, `token_values` only.
    - Not applied to inputs with fewer than 4 different tokens, all below 16.
    What to do: Sort sequences by length or pack several into one, and pad to the longest of a batch
    instead of a fixed length. For unknown words, use another tokenizer.
    """

    tensor_regex: Regex | None = None
    token_values: tuple[int, ...] = (0,)
    token_thresholds_percent: tuple[Percent, ...] = (50.0,)

    section = Section.DATA
    calibration = LIMITS
    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 10

    def __post_init__(self) -> None:
        values, limits = len(self.token_values), len(self.token_thresholds_percent)
        if values != limits:
            raise UsageError(
                f"NLPSequenceRatio.token_values has {values} entries, token_thresholds_percent has "
                f"{limits}: each value needs a threshold."
            )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Count tokens and compare their shares with the limits."""
        limits = self._limits()
        last_steps = {}
        for observation in window.observations(_KIND):
            if self.tensor_regex is not None and not re.search(
                self.tensor_regex, observation.subject
            ):
                continue
            counts = TokenCounts.of(observation).counts
            if not counts:
                continue  # damaged
            if self.is_classic:
                yield from self._evaluate(
                    observation.subject, observation.step, counts, observation.value, limits
                )
                continue
            self._add(observation.value, counts, state.of("inputs", observation.subject))
            last_steps[observation.subject] = observation.step
        for name, step in last_steps.items():
            input_state = state.of("inputs", name)
            if _is_text(input_state) and _has_enough_data(input_state):
                totals = {
                    int(token): int(count) for token, count in input_state.of("counts").items()
                }
                limits = self._limits() | self._limits_of_others(totals, input_state["tokens"])
                for finding in self._evaluate(name, step, totals, input_state["tokens"], limits):
                    yield replace(finding, severity=self._severity(input_state))

    def unfit(self, state: State) -> str:
        """Return a reason if the inputs are not tokens of a text."""
        inputs = list(state.of("inputs").values())
        if inputs and not any(map(_is_text, inputs)) and any(map(_has_enough_data, inputs)):
            return f"inputs have fewer than {LIMITS.min_kinds} different tokens"
        return ""

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many tokens or inspections are missing."""
        inputs = list(state.of("inputs").values())
        if self.is_classic or not inputs or any(map(_has_enough_data, inputs)):
            return ""
        tokens, inspections = max((int(entry["tokens"]), int(entry["looks"])) for entry in inputs)
        if inspections < LIMITS.min_inspections:
            return Shortfall(inspections, LIMITS.min_inspections, DataUnit.INSPECTIONS)
        return Shortfall(tokens, LIMITS.min_tokens, DataUnit.TOKENS)

    def _add(self, tokens: float, counts: Mapping[int, int], state: State) -> None:
        state["looks"] = state.get("looks", 0) + 1
        state["tokens"] = state.get("tokens", 0.0) + tokens
        state["kinds"] = max(state.get("kinds", 0), len(counts))
        state["largest"] = max(state.get("largest", 0), *counts, 0)
        sums = state.of("counts")
        others = [token for token in counts if token not in self.token_values]
        candidate = max(others, key=lambda token: counts[token], default=self.token_values[0])
        if len(sums) < LIMITS.max_candidates:
            sums.setdefault(str(candidate), 0)
        for token in {*self.token_values, *map(int, sums)}:
            sums[str(token)] = sums.get(str(token), 0) + counts.get(token, 0)

    def _limits_of_others(self, totals: dict[int, int], tokens: float) -> dict[int, float]:
        """Return the limits for the shares of tokens that are not in `token_values`."""
        if self.explicit_parameters & {"token_values", "token_thresholds_percent"}:
            return {}
        other_tokens = tokens - sum(totals.get(token, 0) for token in self.token_values)
        if other_tokens < LIMITS.min_tokens:
            return {}
        limit = LIMITS.unnamed_percent * other_tokens / tokens
        return {token: limit for token in totals if token not in self.token_values}

    def _severity(self, state: State) -> Severity:
        """Return the severity; in a small vocabulary, a frequent token need not be padding."""
        is_set = bool(self.explicit_parameters & {"token_values", "token_thresholds_percent"})
        return (
            Severity.WARNING
            if is_set or state["largest"] >= LIMITS.vocabulary_id
            else Severity.INFO
        )

    def _limits(self) -> dict[int, float]:
        return dict(zip(self.token_values, self.token_thresholds_percent, strict=True))

    def _evaluate(
        self,
        name: str,
        step: int,
        counts: Mapping[int, int],
        tokens: float,
        limits: dict[int, float],
    ) -> Iterator[Finding]:
        for token, limit in limits.items():
            percent = 100 * counts.get(token, 0) / tokens if tokens else 0.0
            if percent > limit:
                yield self.finding(
                    f"{format_percent(percent)} of {name} is token {token}.",
                    step=step,
                    tensor=name,
                    subject=f"{name}/{token}",
                    evidence={"token": token, "percent": percent, "threshold": limit},
                )


def _is_text(state: State) -> bool:
    return bool(state["kinds"] >= LIMITS.min_kinds or state["largest"] >= LIMITS.vocabulary_id)


def _has_enough_data(state: State) -> bool:
    return bool(state["tokens"] >= LIMITS.min_tokens and state["looks"] >= LIMITS.min_inspections)
