"""ModeMismatch: a model is in eval mode while it trains, or the other way round."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations, Statistics, Steps
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._standing import begin_leg, is_told_again, names_in_words, over, told

_KIND = ObservationKind.MODULE_MODE.value
_TRAIN, _EVAL = Mode.TRAIN.value, Mode.EVAL.value
_GRADIENTS = "gradients"
_TRAIN_STEPS = 2  # that it lasts: one may be a trial
_EVAL_STEPS = 3  # of one evaluation without a loss: who has fewer only draws samples
_TIMES = 2  # such evaluations: one may only set the statistics of a batch normalization right


class ModeMismatch(Rule):
    """A model trains in eval mode, or is evaluated in train mode.

    Why it matters: in eval mode dropout does nothing and batch normalization learns nothing; in
    train mode an evaluation is noisy, too pessimistic, and changes the running statistics.
    How it decides: the hook says when a model is not in the mode of the step, and how many of its
    modules care (dropout, batch normalization). It fires where the model as a whole is in the wrong
    mode, some modules care, and it lasts for 2 steps of training, for an evaluation with a loss, or
    for 2 evaluations of at least 3 batches: who only draws samples has less. Single layers in the
    other mode are put there on purpose (frozen batch normalization, Monte Carlo dropout); modules
    whose parameters have requires_grad = False do not count in training, and models that are run in
    training without being trained (teachers, frozen backbones) are left out. So is a model in eval
    mode if each of its modules that care has learned before and gets no gradient any more, or lies
    in a part of the model that gets none at all: who trains a new head on that wants its statistics
    kept.
    What to do: call model.train() before each epoch and model.eval() before each evaluation; models
    that come from from_pretrained() are in eval mode.
    """

    needs = (Observations(_KIND), Steps(_EVAL), Statistics(_GRADIENTS))
    window_steps: ClassVar[int] = 2
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("Overfit",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Takes what the hook has found, and says what stands."""
        yield from begin_leg(self, window, state)
        window.count_watched_steps()
        stands = state.of("stands")
        for one in window.observations(_KIND):
            key = f"{one.subject}/{one.mode}"
            if _is_wrong(one):
                stands.setdefault(key, _noted(one, window))
            else:
                stands.pop(key, None)
                yield from over(self, state, key)
        for key in list(stands):
            yield from self._judged(key, window, state)

    def _judged(self, key: str, window: Window, state: State) -> Iterator[Finding]:
        one = state.of("stands", key)
        if not one.get("is_sure"):
            one["is_sure"] = self._lasts(one, window)
        if one["is_sure"] and (key not in state.get("told", []) or is_told_again(window)):
            told(state, key)
            yield self._found(key, window, one)

    def _lasts(self, one: State, window: Window) -> bool:
        steps = [table.steps[table.steps >= one["since"]] for table in window.steps(one["mode"])]
        count = max(map(len, steps), default=0)
        if one["mode"] == _EVAL:
            one["times"] = one.get("times", 0) + (count >= _EVAL_STEPS)
            return one["times"] >= _TIMES or (count > 0 and bool(window.losses(_EVAL)))
        one["steps"] = one.get("steps", 0) + count
        return bool(one["steps"] >= _TRAIN_STEPS) and not _is_frozen(one, window)

    def _found(self, key: str, window: Window, one: State) -> Finding:
        names, at = one["modules"], int(one["at"])
        is_train = one["mode"] == _TRAIN
        what = "trains in eval mode" if is_train else "is evaluated in train mode"
        does = (
            "dropout is off and batch normalization keeps its statistics"
            if is_train
            else "dropout is on and batch normalization uses the batch"
        )
        return self.finding(
            f"{one['model']} {what} since step {at}: {does} "
            f"({names_in_words(names)}, {one['count']:.0f} such modules).",
            step=(at, max(at, window.first_step or 0)),
            subject=key,
            worker=one["worker"],
            evidence={"modules": names, "count": one["count"], "mode": one["mode"]},
        )


def _is_wrong(one: Observation) -> bool:
    """Whether the model as a whole is in the other mode, and some of its modules care."""
    is_in = one.facts.get("is")
    return one.mode in (_TRAIN, _EVAL) and is_in is not None and is_in != one.mode and one.value > 0


def _is_frozen(one: State, window: Window) -> bool:
    """Whether no module that cares is trained, as far as was looked at since."""
    modules = one["modules"]
    looked_at = window.tensors(_GRADIENTS)
    fed = {tensor.name for tensor in looked_at if tensor.steps[-1] >= one["since"]}
    if fed:
        known = set(window.data.members(_GRADIENTS))
        are_known = len(modules) == one["count"]
        one["is_frozen"] = are_known and all(_rests(name, fed, known) for name in modules)
    return bool(one.get("is_frozen", False))


def _rests(module: str, fed: set[str], known: set[str]) -> bool:
    """Whether a module has learned before, or nothing learns in its whole part of the model."""
    part, _, inside = module.partition(".")
    if _has_any(module, fed):
        return False
    return _has_any(module, known) or (bool(inside) and not _has_any(part, fed))


def _has_any(module: str, gradients: set[str]) -> bool:
    return any(name.startswith(f"gradient/{module}.") for name in gradients)


def _noted(one: Observation, window: Window) -> State:
    return State(
        at=one.step if one.mode == _TRAIN else _trained_until(one, window),
        model=one.subject,
        mode=one.mode,
        since=one.step,
        count=one.value,
        worker=one.worker,
        modules=list(one.facts.get("modules", [])) or ["the model"],
    )


def _trained_until(one: Observation, window: Window) -> int:
    """The last training step before it."""
    for table in window.steps():
        count = int(np.searchsorted(table.ends_ns, one.time_ns, side="right"))
        if count:
            return int(table.steps[count - 1])
    return max(0, (window.first_step or 0) - 1)
