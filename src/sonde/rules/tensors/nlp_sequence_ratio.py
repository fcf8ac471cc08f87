"""NLPSequenceRatio: sequences that are mostly padding, or mostly unknown words."""

import re
from collections.abc import Iterator
from typing import ClassVar

from sonde.errors import UsageError
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations
from sonde.rules._parameters import Percent, Regex
from sonde.rules._rule import Rule, State

_KIND = "input-tokens"
_TOKENS = 1000  # that tell the share of one of them
_LOOKS = 3
_KINDS = 4  # of tokens: where there are fewer, each has a large share by nature


class NLPSequenceRatio(Rule):
    """A token takes up more of the input sequences than it should.

    Why it matters: padding is computed and thrown away; unknown words teach nothing.
    How it decides: the share of each of token_values among the tokens that go into an embedding.
    Classic fires at every look at which it exceeds its threshold. Calibrated sums up at least three
    looks and a thousand tokens, and leaves vocabularies of less than four tokens alone.
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
            known = state.of("inputs", one.subject)
            known["looks"] = known.get("looks", 0) + 1
            known["tokens"] = known.get("tokens", 0.0) + one.value
            known["kinds"] = max(known.get("kinds", 0), len(counts))
            sums = known.of("counts")
            for token in limits:
                sums[str(token)] = sums.get(str(token), 0) + counts.get(token, 0)
            seen[one.subject] = one.step
        for name, step in seen.items():
            known = state.of("inputs", name)
            if known["kinds"] >= _KINDS and _is_enough(known):
                totals = {int(token): int(count) for token, count in known.of("counts").items()}
                yield from self._judged(name, step, totals, known["tokens"], limits)

    def unfit(self, state: State) -> str:
        """Inputs that are no words."""
        known = list(state.of("inputs").values())
        if known and all(one["kinds"] < _KINDS for one in known) and any(map(_is_enough, known)):
            return f"inputs have fewer than {_KINDS} different tokens: each has a large share"
        return ""

    def lacks(self, state: State) -> str:
        """How many tokens are missing."""
        known = list(state.of("inputs").values())
        if self.is_classic or not known or any(map(_is_enough, known)):
            return ""
        tokens, looks = max((int(one["tokens"]), int(one["looks"])) for one in known)
        return f"it has seen {tokens} tokens in {looks} looks; it needs {_TOKENS} in {_LOOKS}"

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


def _is_enough(known: State) -> bool:
    return bool(known["tokens"] >= _TOKENS and known["looks"] >= _LOOKS)
