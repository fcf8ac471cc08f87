"""Exceptions that analysis scripts and rules catch."""

from smdebug.core.modes import ModeKeys


class SMDebugError(Exception):
    """The base of errors in arguments and configuration."""


class SMDebugRuntimeError(SMDebugError, RuntimeError):
    """An operation is not possible in the current state."""


class SMDebugNotImplementedError(SMDebugError, NotImplementedError):
    """A function is not available."""


class SMDebugTypeError(SMDebugError, TypeError):
    """An argument has the wrong type."""


class SMDebugValueError(SMDebugError, ValueError):
    """An argument has an invalid value."""


class SMDebugCustomerError(SMDebugError):
    """The environment is not set up as needed."""


class InvalidCollectionConfiguration(Exception):
    """A collection has neither regular expressions nor tensor names."""

    def __init__(self, c_name: str) -> None:
        super().__init__(c_name)
        self.c_name = c_name

    def __str__(self) -> str:
        return (
            f"Collection {self.c_name!r} has no regular expression and no tensor names, so nothing "
            "belongs to it. Call include() or add_tensor_name()."
        )


class StepNotYetAvailable(Exception):
    """A step may become available later."""

    def __init__(self, step: int, mode: ModeKeys) -> None:
        super().__init__(step, mode)
        self.step = step
        self.mode = mode

    def __str__(self) -> str:
        return f"Step {self.step} of mode {self.mode.name} is not yet available"


class StepUnavailable(Exception):
    """A step was not saved."""

    def __init__(self, step: int, mode: ModeKeys) -> None:
        super().__init__(step, mode)
        self.step = step
        self.mode = mode

    def __str__(self) -> str:
        return f"Step {self.step} of mode {self.mode.name} was not saved"


class TensorUnavailableForStep(Exception):
    """A tensor was not saved at a step."""

    def __init__(
        self,
        tname: str,
        step: int,
        mode: ModeKeys = ModeKeys.GLOBAL,
        has_reductions: bool = False,
    ) -> None:
        super().__init__(tname, step, mode)
        self.tname = tname
        self.step = step
        self.mode = mode
        self.has_reductions = has_reductions

    def __str__(self) -> str:
        hint = "; only reductions are, see reduction_values()" if self.has_reductions else ""
        return (
            f"The value of {self.tname!r} at step {self.step} of mode {self.mode.name} "
            f"was not saved{hint}"
        )


class ShapeUnavailableForStep(Exception):
    """The shape of a tensor was not saved at a step."""

    def __init__(self, tname: str, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> None:
        super().__init__(tname, step, mode)
        self.tname = tname
        self.step = step
        self.mode = mode

    def __str__(self) -> str:
        return (
            f"The shape of {self.tname!r} at step {self.step} of mode {self.mode.name} "
            "was not saved"
        )


class TensorUnavailable(Exception):
    """A tensor was not saved at any step."""

    def __init__(self, tname: str) -> None:
        super().__init__(tname)
        self.tname = tname

    def __str__(self) -> str:
        return f"Tensor {self.tname!r} was not saved"


class InvalidWorker(Exception):
    """No worker of that name saved anything."""

    def __init__(self, worker: str) -> None:
        super().__init__(worker)
        self.worker = worker

    def __str__(self) -> str:
        return f"Unknown worker {self.worker!r}"


class NoMoreData(Exception):
    """The training is over, and a step was never reached."""

    def __init__(
        self,
        step: int | None = None,
        mode: ModeKeys | None = None,
        last_step: int | None = None,
    ) -> None:
        super().__init__(step, mode, last_step)
        self.step = step
        self.mode = mode
        self.last_step = last_step

    def __str__(self) -> str:
        mode = f" of mode {self.mode.name}" if self.mode else ""
        last = f" The last step is {self.last_step}." if self.last_step is not None else ""
        return f"The training is over: there is no step {self.step}{mode}.{last}"


class NoMoreProfilerData(Exception):
    """The training is over, and nothing was recorded at or after a time."""

    def __init__(self, timestamp: int) -> None:
        super().__init__(timestamp)
        self.timestamp = timestamp

    def __str__(self) -> str:
        return f"The training is over: nothing was recorded after {self.timestamp}"


class MissingCollectionFiles(Exception):
    """There is no recording."""

    def __init__(self, path: object = "") -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"No recording in {self.path or 'this folder'}. Was the hook configured?"


class IndexReaderException(Exception):
    """A recording cannot be read."""


class RuleEvaluationConditionMet(Exception):
    """A rule returned True."""

    def __init__(
        self,
        rule_name: str,
        step: int,
        end_of_rule: bool = False,
    ) -> None:
        super().__init__(rule_name, step, end_of_rule)
        self.rule_name = rule_name
        self.step = step
        self.end_of_rule = end_of_rule

    def __str__(self) -> str:
        return f"The condition of rule {self.rule_name} is met at step {self.step}"


class InsufficientInformationForRuleInvocation(Exception):
    """A rule cannot run with what was recorded."""

    def __init__(self, rule_name: str, message: str = "") -> None:
        super().__init__(rule_name, message)
        self.rule_name = rule_name
        self.message = message

    def __str__(self) -> str:
        return f"Rule {self.rule_name} cannot run: {self.message}"
