"""The tensors that a rule needs at a step."""

from collections.abc import Iterable, Iterator

from smdebug.core.tensor import Tensor
from smdebug.exceptions import SMDebugValueError, TensorUnavailable, TensorUnavailableForStep
from smdebug.trials.trial import Trial


class RequiredTensors:
    """Names of tensors with the steps at which a rule needs them, by trial."""

    def __init__(self, base_trial: Trial, other_trials: Iterable[Trial] = ()) -> None:
        self._base_trial = base_trial
        self._trials = [base_trial, *other_trials]
        self.clear()

    def clear(self) -> None:
        """Forget everything that was added."""
        self._steps: dict[Trial, dict[str, list[int]]] = {trial: {} for trial in self._trials}

    def add(
        self,
        name: str,
        steps: Iterable[int],
        trial: Trial | None = None,
        should_match_regex: bool = False,
    ) -> None:
        """Add a tensor, or all tensors that a regular expression matches.

        Args:
            name: A name or a regular expression.
            steps: Global steps.
            trial: By default, the base trial of the rule.
            should_match_regex: Whether `name` is a regular expression.
        """
        at = self._base_trial if trial is None else trial
        names = at.tensor_names(regex=name) if should_match_regex else [name]
        for each in names:
            known = self._steps[at].setdefault(each, [])
            known += [step for step in steps if step not in known]

    def get(self, trial: Trial | None = None) -> list[Tensor]:
        """The tensors that were added."""
        at = self._base_trial if trial is None else trial
        return [at.tensor(name) for name in self._steps[at]]

    def get_names(self, trial: Trial | None = None) -> list[str]:
        """The names of the tensors that were added."""
        return list(self._steps[self._base_trial if trial is None else trial])

    def get_tensor_steps(self, name: str, trial: Trial | None = None) -> list[int]:
        """The steps that were added for a tensor."""
        at = self._base_trial if trial is None else trial
        if name not in self._steps[at]:
            raise SMDebugValueError(f"Tensor {name!r} was not added to the required tensors")
        return self._steps[at][name]

    def fetch(self) -> None:
        """Check that everything is available.

        Raises:
            TensorUnavailable: A tensor was not saved.
            TensorUnavailableForStep: A tensor was not saved at a step.
        """
        for trial, name, steps in self._all():
            if not trial.has_tensor(name):
                raise TensorUnavailable(name)
            saved = trial.tensor(name).steps(show_incomplete_steps=True)
            for step in steps:
                if step not in saved:
                    raise TensorUnavailableForStep(name, step)

    def _all(self) -> Iterator[tuple[Trial, str, list[int]]]:
        for trial, tensors in self._steps.items():
            for name, steps in tensors.items():
                yield trial, name, steps
