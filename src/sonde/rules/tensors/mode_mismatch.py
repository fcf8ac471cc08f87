"""ModeMismatch: a model is in eval mode while it trains, or the other way round."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations, Statistics, Steps
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.open_faults import (
    begin_attempt,
    is_repeat_due,
    mark_open,
    resolve,
    summarize_names,
)

_KIND = ObservationKind.MODULE_MODE.value
_TRAIN, _EVAL = Mode.TRAIN.value, Mode.EVAL.value
_GRADIENTS = "gradients"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ModeMismatch.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_train_steps: int = 2  # one may be a trial
    min_eval_batches: int = 3  # without a loss; fewer only generate samples
    min_evaluations: int = 2  # one may only set the statistics of a batch normalization


LIMITS = Calibration()


class ModeMismatch(Rule):
    """A model trains in eval mode, or is evaluated in train mode.

    Why it matters: In eval mode, dropout is off and batch normalization does not learn. In train
    mode, an evaluation is noisy and too pessimistic, and it changes the running statistics.
    How it decides:
    - The whole model is in the wrong mode and has modules that depend on it (dropout, batch
      normalization).
    - This lasts for 2 training steps, for an evaluation that computes a loss, or for 2 evaluations
      of at least 3 batches.
    - Single layers in the other mode do not count (frozen batch normalization, Monte Carlo
      dropout), nor do modules with `requires_grad=False` in training.
    - Not applied to models that run during training without being trained (teachers, frozen
      backbones), including those whose mode-dependent modules no longer get gradients.
    What to do: Call `model.train()` before each epoch and `model.eval()` before each evaluation.
    Models from `from_pretrained()` start in eval mode.
    """

    section = Section.TRAINING
    calibration = LIMITS
    needs = (Observations(_KIND), Steps(_EVAL), Statistics(_GRADIENTS))
    window_steps: ClassVar[int] = 2
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("Overfit",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Process the hook's observations and yield open findings."""
        yield from begin_attempt(self, window, state)
        window.count_inspected_steps()
        stands_state = state.of("stands")
        for observation in window.observations(_KIND):
            key = f"{observation.subject}/{observation.mode}"
            if _is_wrong(observation):
                stands_state.setdefault(key, _noted(observation, window))
            else:
                stands_state.pop(key, None)
                yield from resolve(self, state, key)
        for key in list(stands_state):
            yield from self._judged(key, window, state)

    def _judged(self, key: str, window: Window, state: State) -> Iterator[Finding]:
        stand_state = state.of("stands", key)
        if not stand_state.get("is_sure"):
            stand_state["is_sure"] = self._lasts(stand_state, window)
        if stand_state["is_sure"] and (key not in state.get("told", []) or is_repeat_due(window)):
            mark_open(state, key)
            yield self._finding(key, window, stand_state)

    def _lasts(self, state: State, window: Window) -> bool:
        steps = [
            table.steps[table.steps >= state["since"]] for table in window.steps(state["mode"])
        ]
        count = max(map(len, steps), default=0)
        if state["mode"] == _EVAL:
            state["times"] = state.get("times", 0) + (count >= LIMITS.min_eval_batches)
            return state["times"] >= LIMITS.min_evaluations or (
                count > 0 and bool(window.losses(_EVAL))
            )
        state["steps"] = state.get("steps", 0) + count
        return bool(state["steps"] >= LIMITS.min_train_steps) and not _is_frozen(state, window)

    def _finding(self, key: str, window: Window, state: State) -> Finding:
        names, at = state["modules"], int(state["at"])
        is_train = state["mode"] == _TRAIN
        what = "trains in eval mode" if is_train else "is evaluated in train mode"
        does = (
            "dropout is off and batch normalization does not update its statistics"
            if is_train
            else "dropout is on and batch normalization uses batch statistics"
        )
        return self.finding(
            f"{state['model']} {what} since step {at}: {does} "
            f"({summarize_names(names)}, {state['count']:.0f} affected modules).",
            step=(at, max(at, window.first_step or 0)),
            subject=key,
            worker=state["worker"],
            evidence={"modules": names, "count": state["count"], "mode": state["mode"]},
        )


def _is_wrong(observation: Observation) -> bool:
    """Whether the model as a whole is in the other mode, and some of its modules care."""
    is_in = observation.facts.get("is")
    return (
        observation.mode in (_TRAIN, _EVAL)
        and is_in is not None
        and is_in != observation.mode
        and observation.value > 0
    )


def _is_frozen(state: State, window: Window) -> bool:
    """Whether no module that cares is trained, as far as was looked at since."""
    modules = state["modules"]
    looked_at = window.tensors(_GRADIENTS)
    fed = {tensor.name for tensor in looked_at if tensor.steps[-1] >= state["since"]}
    if fed:
        members = set(window.data.members(_GRADIENTS))
        are_known = len(modules) == state["count"]
        state["is_frozen"] = are_known and all(_rests(name, fed, members) for name in modules)
    return bool(state.get("is_frozen", False))


def _rests(module: str, fed: set[str], gradients: set[str]) -> bool:
    """Whether a module has learned before, or nothing learns in its whole part of the model."""
    section, _, inside = module.partition(".")
    if _has_any(module, fed):
        return False
    return _has_any(module, gradients) or (bool(inside) and not _has_any(section, fed))


def _has_any(module: str, gradients: set[str]) -> bool:
    return any(name.startswith(f"gradient/{module}.") for name in gradients)


def _noted(observation: Observation, window: Window) -> State:
    return State(
        at=observation.step if observation.mode == _TRAIN else _trained_until(observation, window),
        model=observation.subject,
        mode=observation.mode,
        since=observation.step,
        count=observation.value,
        worker=observation.worker,
        modules=list(observation.facts.get("modules", [])) or ["the model"],
    )


def _trained_until(observation: Observation, window: Window) -> int:
    """The last training step before it."""
    for table in window.steps():
        count = int(np.searchsorted(table.ends_ns, observation.time_ns, side="right"))
        if count:
            return int(table.steps[count - 1])
    return max(0, (window.first_step or 0) - 1)
