"""How well rules tell the programs: counts, shares, and the confusion table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.report import Row
from tests.faults.judging import Outcome
from tests.faults.program import Part

_LEAST_DETECTED = 95.0
_LEAST_NAMED = 90.0
_MOST_ALARMED = 1.0
_SHORT_SECONDS = 2.0  # of training: rules have little to go by


@dataclass(frozen=True)
class Scores:
    """What some runs come to."""

    outcomes: Sequence[Outcome]

    @property
    def faults(self) -> list[Outcome]:
        """Runs with something wrong in them."""
        return [one for one in self.outcomes if one.is_fault]

    @property
    def healthy(self) -> list[Outcome]:
        """Healthy twins and hard negatives."""
        return [one for one in self.outcomes if not one.is_fault]

    @property
    def late(self) -> list[Outcome]:
        """Faults that were to be found within some steps, and were not."""
        due = [one for one in self.faults if one.fault.within is not None]
        return [one for one in due if one.delay is None or one.delay > (one.fault.within or 0)]

    def rows(self, title: str) -> list[Row]:
        """Against the bars."""
        faults, healthy = self.faults, self.healthy
        detected = _percent(sum(one.is_detected for one in faults), len(faults))
        right = _percent(sum(one.is_rule_right for one in faults), len(faults))
        named = _percent(sum(one.is_named for one in faults), len(faults))
        alarmed = _percent(sum(bool(one.loud) for one in healthy), len(healthy))
        advised = _percent(sum(bool(one.alarms) for one in healthy), len(healthy))
        stopped = sum(_would_stop(one) for one in healthy)
        due = sum(one.fault.within is not None for one in faults)
        return [
            Row(f"{title}: detected", detected, "%", "≥ 95 %", detected >= _LEAST_DETECTED),
            Row(f"{title}: by the right rule", right, "%", "≥ 90 %", right >= _LEAST_NAMED),
            Row(f"{title}: and the culprit named", named, "%", "≥ 90 %", named >= _LEAST_NAMED),
            Row(f"{title}: state checks late", len(self.late), f"of {due}", "0", not self.late),
            Row(f"{title}: healthy with an alarm", alarmed, "%", "≤ 1 %", alarmed <= _MOST_ALARMED),
            Row(f"{title}: healthy with an alarm or advice", advised, "%"),
            Row(
                f"{title}: healthy, but a stop action would stop it", stopped, "", "0", not stopped
            ),
            Row(f"{title}: runs", len(self.outcomes), f"({len(faults)} with a fault)"),
        ]

    def documents(self) -> list[dict[str, object]]:
        """Every run as plain JSON values."""
        return [_document(one) for one in self.outcomes]


def score_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Each part by itself, and all."""
    rows = []
    for part in Part:
        of_part = [one for one in outcomes if one.program.part is part]
        rows += Scores(of_part).rows(part.value) if of_part else []
        short = [one for one in of_part if one.training_seconds < _SHORT_SECONDS]
        rows += Scores(short).rows(f"{part.value}, under 2 s of training") if short else []
    return [*rows, *Scores(outcomes).rows("all")]


def fault_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each fault: how often it was seen, named, after how many steps, and what else."""
    lines = [("fault", "part", "rule", "seen", "rule", "culprit", "delay", "beside")]
    faults = [one for one in outcomes if one.is_fault]
    for program in dict.fromkeys(one.program for one in faults):
        runs = [one for one in faults if one.program == program]
        delays = [one.delay for one in runs if one.delay is not None]
        beside = Counter(rule for one in runs for rule in {alarm.rule for alarm in one.beside})
        lines.append(
            (
                program.name,
                program.part.value,
                runs[0].fault.rule,
                f"{sum(one.is_detected for one in runs)}/{len(runs)}",
                f"{sum(one.is_rule_right for one in runs)}/{len(runs)}",
                f"{sum(one.is_named for one in runs)}/{len(runs)}",
                f"{median(delays):g}" if delays else "",
                ", ".join(f"{rule} {count}" for rule, count in beside.most_common()),
            )
        )
    return _aligned(lines)


def alarm_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each finding in a healthy run, and for each rule that failed."""
    lines = [("healthy run", "", "seed", "severity", "rule", "what it says")]
    for one in Scores(outcomes).healthy:
        who = (one.program.name, one.variant.value, str(one.seed))
        lines += [(*who, alarm.severity, alarm.rule, alarm.message) for alarm in one.alarms]
    for one in outcomes:
        who = (one.program.name, one.variant.value, str(one.seed))
        lines += [(*who, "error", "", error) for error in one.errors]
    return _aligned(lines)


def confusion_table(outcomes: Sequence[Outcome]) -> str:
    """In how many runs of each fault each rule spoke; the last column: healthy runs."""
    faults = [one for one in outcomes if one.is_fault]
    programs = list(dict.fromkeys(one.program for one in faults))
    spoke = Counter(
        (alarm.rule, one.program.name if one.is_fault else "")
        for one in outcomes
        for alarm in {alarm.rule: alarm for alarm in one.alarms}.values()
    )
    meant = {(one.fault.rule, one.name) for one in programs if one.fault is not None}
    rules = sorted({rule for rule, _ in spoke} | {rule for rule, _ in meant})
    heads = [str(number) for number in range(1, len(programs) + 1)]
    lines = [("", *heads, "healthy")]
    for rule in rules:
        cells = []
        for one in programs:
            count = spoke[rule, one.name]
            is_meant = (rule, one.name) in meant
            cells.append(f"[{count}]" if is_meant else str(count or "·"))
        lines.append((rule, *cells, str(spoke[rule, ""] or "·")))
    legend = [f"{number} {one.name}" for number, one in enumerate(programs, start=1)]
    return f"{_aligned(lines, gap=' ')}\n\n{', '.join(legend)}"


def _would_stop(outcome: Outcome) -> bool:
    return any(one.severity == "critical" for one in outcome.alarms)


def _percent(count: int, of: int) -> float:
    return 100.0 * count / of if of else 0.0


def _document(outcome: Outcome) -> dict[str, object]:
    said: dict[str, object] = {}
    if outcome.is_fault:
        said = {
            "fault": outcome.fault.rule,
            "is_detected": outcome.is_detected,
            "is_rule_right": outcome.is_rule_right,
            "is_named": outcome.is_named,
            "delay_steps": outcome.delay,
        }
    return {
        "program": outcome.program.name,
        "part": outcome.program.part.value,
        "variant": outcome.variant.value,
        "seed": outcome.seed,
        "training_seconds": round(outcome.training_seconds, 2),
        **said,
        "alarms": [[one.severity, one.rule, one.said_at] for one in outcome.alarms],
        "errors": list(outcome.errors),
    }


def _aligned(lines: Sequence[tuple[str, ...]], gap: str = "  ") -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        gap.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
