"""Facts about a training that need no threshold: recorded when they are found, read by rules."""

from enum import StrEnum


class ObservationKind(StrEnum):
    """What was found; each says what its subject, its value and its detail are."""

    meaning: str

    def __new__(cls, kind: str, meaning: str) -> "ObservationKind":
        """A kind and what it means, for the reference."""
        member = str.__new__(cls, kind)
        member._value_ = kind
        member.meaning = meaning
        return member

    UNOWNED_PARAMETER = (
        "unowned-parameter",
        "a parameter of a model gets gradients, belongs to no optimizer and does not change. "
        "Value: 1 where an optimizer owns one of the same shape that no model has any more (it was "
        "made before the layer was replaced), else 0. Detail `over` once that has ended",
    )
    NO_GRADIENT = (
        "no-gradient",
        "a parameter that an optimizer owns has no gradient, while others have one. "
        "Value: for how many steps of the optimizer in a row; 0 once it has one",
    )
    UNMOVED_PARAMETER = (
        "unmoved-parameter",
        "a parameter does not change although its gradient is not zero, as far as a sample of its "
        "elements tells. Value: for how many steps of its optimizer; 0 once it changes. "
        "Detail: its learning rate, where it has one",
    )
    REPLICA_CHECKSUM = (
        "replica-checksum",
        "a checksum of all parameters of a model, before the step updates them; equal on workers "
        "whose parameters are equal to the last bit. Value: 1 where the model is wrapped to be "
        "the same on all workers, else 0. Detail: the checksum in hexadecimal digits",
    )
    MODULE_MODE = (
        "module-mode",
        "a model, or some of its modules, are not in the mode of the step. Value: how many modules "
        "of it behave differently in that mode (dropout, batch normalization). Detail: JSON with "
        "`is` (the mode of the whole model) and `modules` (the first of those that are in the "
        "other one); empty once all is as it should be",
    )
    FIRST_NON_FINITE = (
        "first-non-finite",
        "where a non-finite loss or gradient came from. Subject: the module, parameter or input. "
        "Value: the step whose loss or gradient was not finite. Detail: JSON with `found` (`nan`, "
        "`inf`, or `finite`: nothing of it was left in the next forward pass) and `in` (`input`, "
        "`weight`, `output`, `loss`, `gradient`, or `model`: with finite inputs and weights)",
    )
    REFUSED_STEP = (
        "refused-step",
        "an optimizer was kept from stepping on non-finite gradients, and the job was stopped. "
        "Subject: the first parameters with such gradients, empty on workers that had none. "
        "Value: on how many workers there were some",
    )
    THREAD_DIED = (
        "thread_died",
        "a thread ended by an exception. Subject: its name. Detail: the traceback",
    )
