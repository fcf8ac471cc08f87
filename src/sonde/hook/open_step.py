"""The current training step: its spans, and the optimizers that have stepped in it."""

import json
from dataclasses import dataclass, field
from typing import NamedTuple

from sonde.records.step import Phase

Span = tuple[str, str, int, int]  # phase, category, start, duration

_OUTSIDE_STEP = (Phase.EVALUATION, Phase.CHECKPOINT)  # a step never begins with these


class Update(NamedTuple):
    """State of a step at the end of an optimizer step."""

    optimizer: int
    spans: int  # number of spans so far
    end_ns: int
    micro_steps: int
    is_skipped: bool


@dataclass(slots=True)
class OpenStep:
    """The current training step."""

    spans: list[Span] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    spans_at_end: int = 0  # number of spans before the end of the last optimizer step
    end_ns: int = 0
    backwards: int = 0  # since the last optimizer step
    micro_steps: int = 0
    is_skipped: bool = False
    profiled_by: str = ""  # the kind of profiler that ran during the step
    counted_by: str = ""  # what ended the step if no optimizer did

    @property
    def optimizers(self) -> list[int]:
        """The optimizers that have stepped, in order."""
        return [update.optimizer for update in self.updates]

    def mark_end(self, now_ns: int) -> None:
        """Assign everything recorded so far to the step."""
        self.micro_steps = max(self.micro_steps, self.backwards)
        self.end_ns, self.spans_at_end = now_ns, len(self.spans)

    def update(self, optimizer: int, now_ns: int, *, is_skipped: bool) -> None:
        """Record an optimizer step."""
        micro_steps = self.backwards
        self.mark_end(now_ns)
        self.backwards = 0
        self.is_skipped |= is_skipped
        spans = self.spans_at_end
        self.updates.append(Update(optimizer, spans, now_ns, micro_steps, is_skipped))

    def count_backward(self, optimizer: int, now_ns: int, micro_steps: int) -> None:
        """End the step with a backward pass, unless a later one extends it."""
        self.updates.clear()
        self.counted_by = "backward"
        self.micro_steps, self.backwards = 0, micro_steps
        self.update(optimizer, now_ns, is_skipped=False)

    def without_updates(self) -> "OpenStep":
        """A copy of the step without its optimizer steps."""
        return OpenStep(self.spans, backwards=self.micro_steps, profiled_by=self.profiled_by)

    def extend_end(self, now_ns: int) -> None:
        """Move the end of the step to the end of the call that ran the last optimizer step."""
        self.end_ns, self.spans_at_end = now_ns, len(self.spans)
        last = self.updates.pop()
        self.updates.append(last._replace(end_ns=now_ns, spans=len(self.spans)))

    def split(self, count: int) -> tuple["OpenStep", "OpenStep"]:
        """Split into the step of the first `count` optimizer steps and the step of the rest."""
        boundary = self.updates[count - 1].spans
        first = OpenStep(self.spans[:boundary], profiled_by=self.profiled_by)
        rest = OpenStep(self.spans[boundary:], profiled_by=self.profiled_by)
        for update in self.updates[:count]:
            first._add(update)
        for update in self.updates[count:]:
            rest._add(update._replace(spans=update.spans - boundary))
        rest.backwards = self.backwards
        return first, rest

    def _add(self, update: Update) -> None:
        self.updates.append(update)
        self.spans_at_end, self.end_ns = update.spans, update.end_ns
        self.micro_steps = max(self.micro_steps, update.micro_steps)
        self.is_skipped |= update.is_skipped

    def first_start_ns(self) -> int:
        """Start of the first step of a training, which begins with its first span."""
        starts = [span[2] for span in self.spans if span[0] not in _OUTSIDE_STEP]
        return min(starts, default=self.end_ns)

    def detail(self) -> str:
        """Unusual properties of the step as JSON, or an empty string if there are none."""
        unusual: dict[str, object] = {}
        if self.micro_steps > 1:
            unusual["micro_steps"] = self.micro_steps
        if self.is_skipped:
            unusual["skipped"] = True
        if len(self.updates) > 1:
            unusual["optimizers"] = sorted(set(self.optimizers))[:16]
        if self.profiled_by:
            unusual["profiled"] = self.profiled_by
        if self.counted_by:
            unusual["counted_by"] = self.counted_by
        return json.dumps(unusual, separators=(",", ":")) if unusual else ""
