"""NLPSequenceRatio: sequences that are mostly padding, or mostly unknown words."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from sonde.errors import UsageError
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent, Regex
from sonde.rules._rule import Rule, State

_KIND = "input-tokens"
_TOKENS = 1000  # that tell the share of one of them
_LOOKS = 3
_KINDS = 4  # of tokens: where there are fewer, each has a large share by nature
_VOCABULARY = 16  # a number from here on is that of a word, however few words there are
_OF_THE_OTHERS = 75.0  # percent: a token that nobody named takes up the rest
_CANDIDATES = 8  # tokens that were the most frequent one of a look


class NLPSequenceRatio(Rule):
    """A token takes up more of the input sequences than it should.

    Why it matters: padding is computed and thrown away; unknown words teach nothing.
    How it decides: the share of each of token_values among the tokens that go into an embedding.
    Classic fires at every look at which it exceeds its threshold. Calibrated sums up at least three
    looks and a thousand tokens. It leaves inputs of fewer than four different tokens alone, unless
    their numbers, 16 or more, are those of a larger vocabulary. Where you set nothing, a token that
    takes up three quarters of all others than 0 is told, too: the unknown word is often 1 or 100;
    and where no number is 16 or more it is a hint: most squares of a board are empty, and most
    notes of a tune are held.
    What to do: sort sequences by length or pack several into one; pad to the longest of a batch,
    not to a fixed length; for unknown words use another tokenizer.
    """

    tensor_regex: Regex | None = None
    token_values: tuple[int, ...] = (0,)
    token_thresholds_percent: tuple[Percent, ...] = (50.0,)

    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 10

    def __post_init__(self) -> None:
        values, limits = len(self.token_values), len(self.token_thresholds_percent)
        if values != limits:
            raise UsageError(
                f"NLPSequenceRatio.token_values has {values} entries, token_thresholds_percent has "
                f"{limits}: each value needs its threshold."
            )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Counts tokens."""
        limits = self._limits()
        seen = {}
        for one in window.observations(_KIND):
            if self.tensor_regex is not None and not re.search(self.tensor_regex, one.subject):
                continue
            counts = {int(token): int(n) for token, n in one.facts["counts"].items()}
            if self.is_classic:
                yield from self._judged(one.subject, one.step, counts, one.value, limits)
                continue
            self._take(one.value, counts, state.of("inputs", one.subject))
            seen[one.subject] = one.step
        for name, step in seen.items():
            known = state.of("inputs", name)
            if _is_of_words(known) and _is_enough(known):
                totals = {int(token): int(count) for token, count in known.of("counts").items()}
                limits = self._limits() | self._limits_of_others(totals, known["tokens"])
                for found in self._judged(name, step, totals, known["tokens"], limits):
                    yield replace(found, severity=self._severity(known))

    def unfit(self, state: State) -> str:
        """Inputs that are no words."""
        known = list(state.of("inputs").values())
        if known and not any(map(_is_of_words, known)) and any(map(_is_enough, known)):
            return f"inputs have fewer than {_KINDS} different tokens: each has a large share"
        return ""

    def lacks(self, state: State) -> str | Shortfall:
        """How many tokens are missing."""
        known = list(state.of("inputs").values())
        if self.is_classic or not known or any(map(_is_enough, known)):
            return ""
        tokens, looks = max((int(one["tokens"]), int(one["looks"])) for one in known)
        if looks < _LOOKS:
            return Shortfall(looks, _LOOKS, DataUnit.INSPECTIONS)
        return Shortfall(tokens, _TOKENS, DataUnit.TOKENS)

    def _take(self, tokens: float, counts: dict[int, int], known: State) -> None:
        known["looks"] = known.get("looks", 0) + 1
        known["tokens"] = known.get("tokens", 0.0) + tokens
        known["kinds"] = max(known.get("kinds", 0), len(counts))
        known["largest"] = max(known.get("largest", 0), *counts, 0)
        sums = known.of("counts")
        others = [token for token in counts if token not in self.token_values]
        most = max(others, key=lambda token: counts[token], default=self.token_values[0])
        if len(sums) < _CANDIDATES:
            sums.setdefault(str(most), 0)
        for token in {*self.token_values, *map(int, sums)}:
            sums[str(token)] = sums.get(str(token), 0) + counts.get(token, 0)

    def _limits_of_others(self, totals: dict[int, int], tokens: float) -> dict[int, float]:
        """What share of all is too much for a token that nobody has named."""
        if self.given & {"token_values", "token_thresholds_percent"}:
            return {}
        rest = tokens - sum(totals.get(token, 0) for token in self.token_values)
        if rest < _TOKENS:
            return {}
        limit = _OF_THE_OTHERS * rest / tokens
        return {token: limit for token in totals if token not in self.token_values}

    def _severity(self, known: State) -> Severity:
        """How sure it is that a token stands for nothing: in a small vocabulary none need."""
        is_told = bool(self.given & {"token_values", "token_thresholds_percent"})
        return Severity.WARNING if is_told or known["largest"] >= _VOCABULARY else Severity.INFO

    def _limits(self) -> dict[int, float]:
        return dict(zip(self.token_values, self.token_thresholds_percent, strict=True))

    def _judged(
        self,
        name: str,
        step: int,
        counts: dict[int, int],
        tokens: float,
        limits: dict[int, float],
    ) -> Iterator[Finding]:
        for token, limit in limits.items():
            percent = 100 * counts.get(token, 0) / tokens if tokens else 0.0
            if percent > limit:
                yield self.finding(
                    f"{percent:.0f} % of {name} are token {token}.",
                    step=step,
                    tensor=name,
                    subject=f"{name}/{token}",
                    evidence={"token": token, "percent": percent, "threshold": limit},
                )


def _is_of_words(known: State) -> bool:
    return bool(known["kinds"] >= _KINDS or known["largest"] >= _VOCABULARY)


def _is_enough(known: State) -> bool:
    return bool(known["tokens"] >= _TOKENS and known["looks"] >= _LOOKS)
