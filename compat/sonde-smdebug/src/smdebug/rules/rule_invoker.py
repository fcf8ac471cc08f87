"""Run a rule over the steps of its trial."""

from smdebug.core.logger import get_logger
from smdebug.core.modes import ModeKeys
from smdebug.exceptions import (
    RuleEvaluationConditionMet,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.rules.rule import Rule


def invoke_rule(
    rule_obj: Rule,
    start_step: int = 0,
    end_step: int | None = None,
    raise_eval_cond: bool = False,
    mode: ModeKeys = ModeKeys.GLOBAL,
) -> None:
    """Evaluate a rule at every step, waiting for steps of a running job.

    Args:
        rule_obj: The rule.
        start_step: The first step.
        end_step: The step to stop before; by default, NoMoreData is raised at the end of the job.
        raise_eval_cond: Raise RuleEvaluationConditionMet when the condition is met, instead of
            logging it and continuing.
        mode: The mode that counts the steps.
    """
    logger = get_logger()
    step = start_step
    while end_step is None or step < end_step:
        try:
            rule_obj.invoke(step, mode)
        except (TensorUnavailable, TensorUnavailableForStep, StepUnavailable) as error:
            logger.debug("%s", error)
        except RuleEvaluationConditionMet as condition:
            if raise_eval_cond:
                raise
            logger.info("%s", condition)
            if condition.end_of_rule:
                return
        step += 1
