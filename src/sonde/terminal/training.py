"""What training does, for people: steps, stages, losses, and where a step's time goes."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from sonde.formats import format_duration, format_percent
from sonde.records.step import Mode, Phase
from sonde.results.evaluations import latest_evaluations
from sonde.terminal.bars import bar
from sonde.terminal.styles import CPU, QUIET

_BAR = 20
_NAME = 16
_COLUMN = 9
_MOST_WORKERS = 8
_MOST_WINDOWS = 6
_ORDER = [phase.value for phase in Phase]


def training_rows(status: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Labels and texts, where there is something to tell."""
    stages = status["stages"] or {}
    said = [f"{name.replace('_', ' ')} {_stage(one)}" for name, one in stages.items()]
    return [
        ("workers", _workers(status)),
        ("stages", ", ".join(said)),
        ("steps", _steps(status)),
        ("last loss", last_losses(_without_batches(status))),
        ("evaluations", evaluations(status.get("evaluations", []))),
        ("profiling", profiling(status["profiling"])),
        ("profiles", _profiles(status["profiles"])),
    ]


def profiling(windows: Sequence[Mapping[str, Any]]) -> str:
    """What is looked at more closely just now: once, where all workers do the same."""
    said: dict[str, list[str]] = {}
    for one in windows:
        said.setdefault(_window(one), []).append(str(one["worker"]))
    texts = [
        f"{what} (worker{'s' * (len(workers) > 1)} {', '.join(workers[:_MOST_WORKERS])})"
        for what, workers in said.items()
    ]
    return "; ".join(texts if len(said) > 1 else said)


def _profiles(windows: Sequence[Mapping[str, Any]]) -> str:
    """The latest windows, and what switching their profilers on and off took in all."""
    said = list(dict.fromkeys(map(_window, windows)))[-_MOST_WINDOWS:]
    took = sum(one["cost_seconds"] for one in windows)
    return f"{'; '.join(said)} (they took {format_duration(took)})" if said else ""


def _window(one: Mapping[str, Any]) -> str:
    first, last = one["first_step"], one["last_step"]
    if last is None:
        return f"{one['kind']} from step {first} on"
    return f"{one['kind']} step {first}" if last == first else f"{one['kind']} steps {first}–{last}"


def last_losses(losses: Mapping[str, Any]) -> str:
    """The last loss of each mode; with several optimizers, of each of them."""
    return ", ".join(
        f"{one['value']:.5g} ({_whose(label)}, step {one['step']})" for label, one in losses.items()
    )


def evaluations(results: Sequence[Mapping[str, Any]]) -> str:
    """The last result of each series: its loss, when it ran, on how many samples."""
    return ", ".join(_evaluation(one) for one in latest_evaluations(results))


def _evaluation(one: Mapping[str, Any]) -> str:
    loss = "no loss" if one["loss"] is None else f"{one['loss']:.5g}"
    samples = f", {one['samples']:,} samples" if one["samples"] else ""
    return f"{one['name']} {loss} (step {one['step']:,}{samples})"


def _without_batches(status: Mapping[str, Any]) -> dict[str, Any]:
    """The last losses; single batches of evaluations are left out where there are results."""
    losses: Mapping[str, Any] = status["losses"]
    if not status.get("evaluations"):
        return dict(losses)
    return {label: one for label, one in losses.items() if label.partition("/")[0] != Mode.EVAL}


def losses_of_first_mode(losses: Mapping[str, Any]) -> list[str]:
    """The last losses of one mode, by their names."""
    first = next(iter(losses), "").partition("/")[0]
    return [
        f"{_loss_name(label)} {one['value']:.5g}"
        for label, one in losses.items()
        if label.partition("/")[0] == first
    ]


def _whose(label: str) -> str:
    mode = label.partition("/")[0]
    return mode if label == mode else f"{mode}, {_loss_name(label)}"


def _loss_name(label: str) -> str:
    return "".join(("loss", *label.partition("/")[1:]))


def _workers(status: Mapping[str, Any]) -> str:
    lives = [one for one in status["lives"] if one["framework"]]
    if not lives:
        return ""
    last = lives[-1]
    version = last["versions"].get(last["framework"], "")
    devices = ", ".join(sorted({one["device"] for one in lives})[:4])
    return f"{status['workers']} ({' '.join((last['framework'], version)).strip()} on {devices})"


def _stage(stage: Mapping[str, Any]) -> str:
    return f"{format_duration(stage['seconds'])} ({format_percent(stage['percent'])})"


def _steps(status: Mapping[str, Any]) -> str:
    said = ", ".join(f"{count:,} {mode}" for mode, count in status["steps"].items())
    times = step_times(status["phases"])
    return f"{said}; {times}" if said and times else said


def step_times(phases: Mapping[str, Any]) -> str:
    """How long a step takes, of the first mode there is."""
    for mode, one in phases.items():
        seconds = one["seconds"]
        return (
            f"a {mode} step takes {format_duration(seconds['p50'])} "
            f"(mean {format_duration(seconds['mean'])}, p95 {format_duration(seconds['p95'])})"
        )
    return ""


def phase_lines(phases: Mapping[str, Any]) -> list[Text]:
    """Where the time of a step goes: a line per phase, a column per mode."""
    if not phases:
        return []
    modes = list(phases)
    titles = "".join(mode.rjust(_COLUMN) for mode in modes)
    lines = [Text(), Text(f"{'time of a step':<{_NAME}}{titles}", QUIET)]
    for name in phase_names(phases):
        shares = [phases[mode]["percent"].get(name) for mode in modes]
        cells = "".join((format_percent(one, 1) if one else "").rjust(_COLUMN) for one in shares)
        line = Text(f"{name:<{_NAME}}{cells}  ")
        lines.append(line.append(bar(shares[0] or 0.0, _BAR, CPU)))
    return lines


def phase_names(phases: Mapping[str, Any]) -> Sequence[str]:
    """Every phase that took time: those we know in their order, then those of the script."""
    found = dict.fromkeys(name for one in phases.values() for name in one["percent"])
    return sorted(found, key=lambda name: (_place(name), name))


def _place(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)
