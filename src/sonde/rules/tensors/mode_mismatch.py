"""ModeMismatch: a model trains in eval mode or is evaluated in train mode."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.formats import pluralize
from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations, Statistics, Steps
from sonde.records.observation import ObservationKind
from sonde.records.observations.training import ModelMode
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

    min_train_steps: int = 2  # a single one may be a test
    min_eval_batches: int = 3  # without a loss; fewer may only generate samples
    min_evaluations: int = 2  # a single one may only set batch normalization statistics


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
        faults = state.of("stands")
        for observation in window.observations(_KIND):
            key = f"{observation.subject}/{observation.mode}"
            if _is_wrong(observation):
                faults.setdefault(key, _new_fault(observation, window))
            else:
                faults.pop(key, None)
                yield from resolve(self, state, key)
        for key in list(faults):
            yield from self._report(key, window, state)

    def _report(self, key: str, window: Window, state: State) -> Iterator[Finding]:
        fault = state.of("stands", key)
        if not fault.get("is_sure"):
            fault["is_sure"] = self._is_confirmed(fault, window)
        if fault["is_sure"] and (key not in state.get("told", []) or is_repeat_due(window)):
            mark_open(state, key)
            yield self._finding(key, window, fault)

    def _is_confirmed(self, state: State, window: Window) -> bool:
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
        names, first = state["modules"], int(state["at"])
        is_train = state["mode"] == _TRAIN
        problem = "trains in eval mode" if is_train else "is evaluated in train mode"
        effect = (
            "dropout is off and batch normalization does not update its statistics"
            if is_train
            else "dropout is on and batch normalization uses batch statistics"
        )
        return self.finding(
            f"{state['model']} {problem} since step {first}: {effect} "
            f"({summarize_names(names)}, {pluralize(round(state['count']), 'affected module')}).",
            step=(first, max(first, window.first_step or 0)),
            subject=key,
            worker=state["worker"],
            evidence={"modules": names, "count": state["count"], "mode": state["mode"]},
        )


def _is_wrong(observation: Observation) -> bool:
    """Whether the whole model is in the wrong mode and has modules that depend on it."""
    mode = ModelMode.of(observation).mode
    return (
        observation.mode in (_TRAIN, _EVAL)
        and mode not in ("", observation.mode)
        and observation.value > 0
    )


def _is_frozen(state: State, window: Window) -> bool:
    """Whether none of the mode-dependent modules is trained, judging by recorded gradients."""
    modules = state["modules"]
    gradients = window.tensors(_GRADIENTS)
    recent = {tensor.name for tensor in gradients if tensor.steps[-1] >= state["since"]}
    if recent:
        every = set(window.data.members(_GRADIENTS))
        is_complete = len(modules) == state["count"]
        state["is_frozen"] = is_complete and all(
            _is_untrained(name, recent, every) for name in modules
        )
    return bool(state.get("is_frozen", False))


def _is_untrained(module: str, recent: set[str], gradients: set[str]) -> bool:
    """Whether a module no longer gets gradients, or its top-level module gets none."""
    top, _, path = module.partition(".")
    if _has_gradient(module, recent):
        return False
    return _has_gradient(module, gradients) or (bool(path) and not _has_gradient(top, recent))


def _has_gradient(module: str, gradients: set[str]) -> bool:
    return any(name.startswith(f"gradient/{module}.") for name in gradients)


def _new_fault(observation: Observation, window: Window) -> State:
    is_train = observation.mode == _TRAIN
    return State(
        at=observation.step if is_train else _last_training_step(observation, window),
        model=observation.subject,
        mode=observation.mode,
        since=observation.step,
        count=observation.value,
        worker=observation.worker,
        modules=list(ModelMode.of(observation).modules) or ["the model"],
    )


def _last_training_step(observation: Observation, window: Window) -> int:
    """Return the last training step before an observation."""
    for table in window.steps():
        count = int(np.searchsorted(table.ends_ns, observation.time_ns, side="right"))
        if count:
            return int(table.steps[count - 1])
    return max(0, (window.first_step or 0) - 1)
