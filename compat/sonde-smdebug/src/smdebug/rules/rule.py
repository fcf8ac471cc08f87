"""A rule: a condition on the tensors of a step."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from smdebug.analysis.utils import no_refresh
from smdebug.core.logger import get_logger
from smdebug.core.modes import ModeKeys
from smdebug.exceptions import RuleEvaluationConditionMet
from smdebug.rules.action import Actions
from smdebug.rules.req_tensors import RequiredTensors
from smdebug.trials.trial import Trial


class Rule(ABC):
    """Evaluates a condition at steps of a trial, and runs actions when it is met."""

    def __init__(
        self,
        base_trial: Trial,
        action_str: str = "",
        other_trials: Sequence[Trial] | None = None,
    ) -> None:
        self.base_trial = base_trial
        self.other_trials = list(other_trials or ())
        self.trials = [base_trial, *self.other_trials]
        self.req_tensors = RequiredTensors(base_trial, self.other_trials)
        self.actions = Actions(action_str, type(self).__name__)
        self.rule_name = type(self).__name__
        self.logger = get_logger()
        self.report: dict[str, Any] = {
            "RuleTriggered": 0,
            "Violations": 0,
            "Details": {},
            "Datapoints": 0,
            "RuleParameters": "",
        }

    def set_required_tensors(self, step: int) -> None:
        """Add what the rule needs at a step to `self.req_tensors`; nothing by default."""

    @abstractmethod
    def invoke_at_step(self, step: int) -> bool:
        """Whether the condition is met at a global step."""

    def invoke(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> None:
        """Wait for a step and evaluate the rule.

        Raises:
            RuleEvaluationConditionMet: The condition is met.
        """
        self.base_trial.wait_for_steps([step], mode)
        with no_refresh(self.trials):
            self.req_tensors.clear()
            self.set_required_tensors(step)
            self.req_tensors.fetch()
            is_met = self.invoke_at_step(step)
        if is_met:
            self.actions.invoke()
            raise RuleEvaluationConditionMet(self.rule_name, step)
