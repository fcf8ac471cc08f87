"""Training progress: steps, stages, losses, and the time per phase of a step."""

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
_MAX_WORKERS = 8
_MAX_WINDOWS = 6
_ORDER = [phase.value for phase in Phase]


def training_rows(status: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Labels and texts; the text is empty if nothing was recorded."""
    return [
        ("workers", _workers(status)),
        ("stages", _stages(status)),
        ("steps", _steps(status)),
        ("last loss", last_losses(_without_batches(status))),
        ("evaluations", evaluations(status.get("evaluations", []))),
        ("profiling", profiling(status["profiling"])),
        ("profiles", _profiles(status["profiles"])),
    ]


def _stages(status: Mapping[str, Any]) -> str:
    stages = status["stages"] or {}
    if not stages and status["workers"] and status["lost"]:
        return "unknown, because data was lost"
    return ", ".join(f"{name.replace('_', ' ')} {_stage(stage)}" for name, stage in stages.items())


def profiling(windows: Sequence[Mapping[str, Any]]) -> str:
    """The active profilers; windows that all workers share are listed once."""
    ranks_by_window: dict[str, list[str]] = {}
    for window in windows:
        ranks_by_window.setdefault(_window(window), []).append(str(window["worker"]))
    texts = [
        f"{text} (worker{'s' * (len(workers) > 1)} {', '.join(workers[:_MAX_WORKERS])})"
        for text, workers in ranks_by_window.items()
    ]
    return "; ".join(texts if len(ranks_by_window) > 1 else ranks_by_window)


def _profiles(windows: Sequence[Mapping[str, Any]]) -> str:
    """The latest windows, and the time that starting and stopping profilers took."""
    latest = list(dict.fromkeys(map(_window, windows)))[-_MAX_WINDOWS:]
    cost = sum(window["cost_seconds"] for window in windows)
    return f"{'; '.join(latest)} (profiler overhead {format_duration(cost)})" if latest else ""


def _window(window: Mapping[str, Any]) -> str:
    first, last = window["first_step"], window["last_step"]
    if last is None:
        return f"{window['kind']} from step {first}"
    return (
        f"{window['kind']} step {first}"
        if last == first
        else f"{window['kind']} steps {first}–{last}"
    )


def last_losses(losses: Mapping[str, Any]) -> str:
    """The last loss per mode and optimizer."""
    return ", ".join(
        f"{loss['value']:.5g} ({_loss_label(label)}, step {loss['step']})"
        for label, loss in losses.items()
    )


def evaluations(results: Sequence[Mapping[str, Any]]) -> str:
    """The last result of each evaluation: its loss, step and number of samples."""
    return ", ".join(_evaluation(result) for result in latest_evaluations(results))


def _evaluation(result: Mapping[str, Any]) -> str:
    loss = "no loss" if result["loss"] is None else f"{result['loss']:.5g}"
    samples = f", {result['samples']:,} samples" if result["samples"] else ""
    return f"{result['name']} {loss} (step {result['step']:,}{samples})"


def _without_batches(status: Mapping[str, Any]) -> dict[str, Any]:
    """The last losses, without single evaluation batches if there are evaluation results."""
    losses: Mapping[str, Any] = status["losses"]
    if not status.get("evaluations"):
        return dict(losses)
    return {label: loss for label, loss in losses.items() if label.partition("/")[0] != Mode.EVAL}


def losses_of_first_mode(losses: Mapping[str, Any]) -> list[str]:
    """The last losses of the first mode, with their names."""
    first = next(iter(losses), "").partition("/")[0]
    return [
        f"{_loss_name(label)} {loss['value']:.5g}"
        for label, loss in losses.items()
        if label.partition("/")[0] == first
    ]


def _loss_label(label: str) -> str:
    mode = label.partition("/")[0]
    return mode if label == mode else f"{mode}, {_loss_name(label)}"


def _loss_name(label: str) -> str:
    return "".join(("loss", *label.partition("/")[1:]))


def _workers(status: Mapping[str, Any]) -> str:
    lives = [life for life in status["lives"] if life["framework"]]
    if not lives:
        return ""
    last = lives[-1]
    version = last["versions"].get(last["framework"], "")
    devices = ", ".join(sorted({life["device"] for life in lives})[:4])
    return f"{status['workers']} ({' '.join((last['framework'], version)).strip()} on {devices})"


def _stage(stage: Mapping[str, Any]) -> str:
    return f"{format_duration(stage['seconds'])} ({format_percent(stage['percent'])})"


def _steps(status: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{count:,} {mode}" for mode, count in status["steps"].items())
    times = step_times(status["phases"])
    return f"{counts}; {times}" if counts and times else counts


def step_times(phases: Mapping[str, Any]) -> str:
    """The duration of a step in the first mode."""
    for mode, phase_times in phases.items():
        seconds = phase_times["seconds"]
        return (
            f"{format_duration(seconds['p50'])} per {mode} step "
            f"(mean {format_duration(seconds['mean'])}, p95 {format_duration(seconds['p95'])})"
        )
    return ""


def phase_lines(phases: Mapping[str, Any]) -> list[Text]:
    """The share of each phase in the step time: a line per phase, a column per mode."""
    if not phases:
        return []
    modes = list(phases)
    titles = "".join(mode.rjust(_COLUMN) for mode in modes)
    lines = [Text(), Text(f"{'step time':<{_NAME}}{titles}", QUIET)]
    for name in phase_names(phases):
        shares = [phases[mode]["percent"].get(name) for mode in modes]
        cells = "".join(
            (format_percent(share, 1) if share else "").rjust(_COLUMN) for share in shares
        )
        line = Text(f"{name:<{_NAME}}{cells}  ")
        lines.append(line.append(bar(shares[0] or 0.0, _BAR, CPU)))
    return lines


def phase_names(phases: Mapping[str, Any]) -> Sequence[str]:
    """All phases with time: built-in phases in order, then custom phases."""
    names = dict.fromkeys(name for shares in phases.values() for name in shares["percent"])
    return sorted(names, key=lambda name: (_rank(name), name))


def _rank(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)
