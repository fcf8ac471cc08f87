"""How well rules report faults: counts, shares, and the confusion table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.report import Row
from tests.faults.judging import Outcome
from tests.faults.program import Purpose

_MIN_DETECTED = 95.0
_MIN_NAMED = 90.0
_MAX_ALARMED = 1.0
_SHORT_SECONDS = 2.0  # of training: little data for rules


@dataclass(frozen=True)
class Scores:
    """The totals of some runs."""

    outcomes: Sequence[Outcome]

    @property
    def faults(self) -> list[Outcome]:
        """Runs with a fault."""
        return [outcome for outcome in self.outcomes if outcome.is_fault]

    @property
    def healthy(self) -> list[Outcome]:
        """Healthy twins and hard negatives."""
        return [outcome for outcome in self.outcomes if not outcome.is_fault]

    @property
    def with_deadline(self) -> list[Outcome]:
        """Faults that must be reported within a number of steps."""
        return [outcome for outcome in self.faults if outcome.label.max_delay_steps is not None]

    @property
    def late(self) -> list[Outcome]:
        """Faults that were not reported within their number of steps."""
        return [
            outcome
            for outcome in self.with_deadline
            if outcome.delay is None or outcome.delay > (outcome.label.max_delay_steps or 0)
        ]

    def rows(self, title: str) -> list[Row]:
        """Return the totals with their targets."""
        faults, healthy = self.faults, self.healthy
        detected = _percent(sum(outcome.is_detected for outcome in faults), len(faults))
        right = _percent(sum(outcome.is_rule_right for outcome in faults), len(faults))
        named = _percent(sum(outcome.is_named for outcome in faults), len(faults))
        alarmed = _percent(sum(bool(outcome.loud) for outcome in healthy), len(healthy))
        advised = _percent(sum(bool(outcome.alarms) for outcome in healthy), len(healthy))
        stopped = sum(_would_stop(outcome) for outcome in healthy)
        due = len(self.with_deadline)
        of_faults = [
            Row(f"{title}: detected", detected, "%", "≥ 95%", detected >= _MIN_DETECTED),
            Row(f"{title}: by the right rule", right, "%", "≥ 90%", right >= _MIN_NAMED),
            Row(f"{title}: and the culprit named", named, "%", "≥ 90%", named >= _MIN_NAMED),
            Row(f"{title}: state checks late", len(self.late), f"of {due}", "0", not self.late),
        ]
        of_healthy = [
            Row(f"{title}: healthy with an alarm", alarmed, "%", "≤ 1%", alarmed <= _MAX_ALARMED),
            Row(f"{title}: healthy with an alarm or advice", advised, "%"),
            Row(
                f"{title}: healthy, but a stop action would stop it", stopped, "", "0", not stopped
            ),
        ]
        return [
            *(of_faults if faults else ()),
            *(of_healthy if healthy else ()),
            Row(f"{title}: runs", len(self.outcomes), f"({len(faults)} with a fault)"),
        ]

    def documents(self) -> list[dict[str, object]]:
        """Return every run as plain JSON values."""
        return [_document(outcome) for outcome in self.outcomes]


def score_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Return the totals for each purpose and overall."""
    rows = []
    for purpose in Purpose:
        selected = [outcome for outcome in outcomes if outcome.program.purpose is purpose]
        rows += Scores(selected).rows(purpose.value) if selected else []
        short = [outcome for outcome in selected if outcome.training_seconds < _SHORT_SECONDS]
        rows += Scores(short).rows(f"{purpose.value}, under 2 s of training") if short else []
    return [*rows, *Scores(outcomes).rows("all")]


def fault_table(outcomes: Sequence[Outcome]) -> str:
    """Return one line per fault: detections, delay and unrelated alarms."""
    lines = [("fault", "part", "rule", "detected", "rule", "culprit", "delay", "unrelated")]
    faults = Scores(outcomes).faults
    for program in dict.fromkeys(outcome.program for outcome in faults):
        runs = [outcome for outcome in faults if outcome.program == program]
        delays = [run.delay for run in runs if run.delay is not None]
        unrelated = Counter(
            rule for run in runs for rule in {alarm.rule for alarm in run.unrelated}
        )
        lines.append(
            (
                program.name,
                program.purpose.value,
                program.label.rule or "",
                f"{sum(run.is_detected for run in runs)}/{len(runs)}",
                f"{sum(run.is_rule_right for run in runs)}/{len(runs)}",
                f"{sum(run.is_named for run in runs)}/{len(runs)}",
                f"{median(delays):g}" if delays else "",
                ", ".join(f"{rule} {count}" for rule, count in unrelated.most_common()),
            )
        )
    return _aligned(lines)


def alarm_table(outcomes: Sequence[Outcome]) -> str:
    """Return one line per finding in a healthy run, and per error."""
    lines = [("healthy run", "", "seed", "severity", "rule", "message")]
    for outcome in Scores(outcomes).healthy:
        run = (outcome.program.name, outcome.variant.value, str(outcome.seed))
        lines += [(*run, alarm.severity, alarm.rule, alarm.message) for alarm in outcome.alarms]
    for outcome in outcomes:
        run = (outcome.program.name, outcome.variant.value, str(outcome.seed))
        lines += [(*run, "error", "", error) for error in outcome.errors]
    return _aligned(lines)


def confusion_table(outcomes: Sequence[Outcome]) -> str:
    """Return the number of runs of each fault (and of healthy runs) in which each rule fired."""
    programs = list(dict.fromkeys(outcome.program for outcome in Scores(outcomes).faults))
    fired = Counter(
        (rule, outcome.program.name if outcome.is_fault else "")
        for outcome in outcomes
        for rule in {alarm.rule for alarm in outcome.alarms}
    )
    expected = {(program.label.rule or "", program.name) for program in programs}
    rules = sorted({rule for rule, _ in fired} | {rule for rule, _ in expected})
    heads = [str(number) for number in range(1, len(programs) + 1)]
    lines = [("", *heads, "healthy")]
    for rule in rules:
        cells = []
        for program in programs:
            count = fired[rule, program.name]
            is_expected = (rule, program.name) in expected
            cells.append(f"[{count}]" if is_expected else str(count or "·"))
        lines.append((rule, *cells, str(fired[rule, ""] or "·")))
    legend = [f"{number} {program.name}" for number, program in enumerate(programs, start=1)]
    return f"{_aligned(lines, gap=' ')}\n\n{', '.join(legend)}"


def _would_stop(outcome: Outcome) -> bool:
    return any(alarm.severity == "critical" for alarm in outcome.alarms)


def _percent(count: int, total: int) -> float:
    return 100.0 * count / total if total else 0.0


def _document(outcome: Outcome) -> dict[str, object]:
    detection: dict[str, object] = {}
    if outcome.is_fault:
        detection = {
            "fault": outcome.label.rule,
            "is_detected": outcome.is_detected,
            "is_rule_right": outcome.is_rule_right,
            "is_named": outcome.is_named,
            "delay_steps": outcome.delay,
        }
    return {
        "program": outcome.program.name,
        "part": outcome.program.purpose.value,
        "variant": outcome.variant.value,
        "seed": outcome.seed,
        "training_seconds": round(outcome.training_seconds, 2),
        **detection,
        "alarms": [[alarm.severity, alarm.rule, alarm.reported_at] for alarm in outcome.alarms],
        "errors": list(outcome.errors),
    }


def _aligned(lines: Sequence[tuple[str, ...]], gap: str = "  ") -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        gap.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
