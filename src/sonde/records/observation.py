"""Kinds of observations: facts about a training job that the hook records and rules read."""

from enum import StrEnum


class ObservationType(str):
    """An observation kind that is declared by the state check that records it."""

    __slots__ = ("meaning",)

    meaning: str

    def __new__(cls, kind: str, meaning: str) -> "ObservationType":
        """Create a kind with its meaning, for the reference."""
        member = str.__new__(cls, kind)
        member.meaning = meaning
        return member


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
        "made before the layer was replaced), 2 where the layer is in a plain list or dict of a "
        "module, else 0. Detail `over` once that has ended",
    )
    NO_GRADIENT = (
        "no-gradient",
        "a parameter that an optimizer owns has no gradient, while others have one. "
        "Value: for how many steps of the optimizer in a row; 0 once it has one. Detail: what its "
        "layer does: `cut` (it is run before all that get gradients), `side` (after some of them), "
        "`untracked` (under no_grad() at every step), `frozen` (so, with weights that were loaded "
        "or had learned before, or not at every step), `unused` (it is not run); empty where that "
        "is not known. Behind the first two comes the line of the script. `cleared`, for the first "
        "of them: all were cleared between the backward pass and the step",
    )
    UNMOVED_PARAMETER = (
        "unmoved-parameter",
        "a parameter does not change although its gradient is large enough, as a sample of its "
        "elements tells. Value: for how many steps of its optimizer; 0 once it changes. "
        "Detail: its learning rate, where it has one",
    )
    REPLICA_CHECKSUM = (
        "replica-checksum",
        "a checksum of all parameters of a model, before the step updates them; equal on workers "
        "whose parameters are equal to the last bit. Value: 1 where the model is wrapped to be "
        "the same on all workers, else 0. Detail: the checksum in hexadecimal digits",
    )
    REPLICA_FINGERPRINT = (
        "replica-fingerprint",
        "a checksum of a few bytes of a model in the host's memory, at every step where there are "
        "several workers, before the step updates them: 64 bytes from the middle of four "
        "parameters. Value: the checksum. Detail: the places of these parameters in the model, "
        "behind `wrapped` where it is wrapped to be the same on all workers; only those with the "
        "same detail can be compared",
    )
    MODULE_MODE = (
        "module-mode",
        "a model, or some of its modules, are not in the mode of the step. Value: how many modules "
        "of it behave differently in that mode (dropout, batch normalization), without those in "
        "training whose own parameters are all frozen. Detail: JSON with `is` (the mode of the "
        "whole model) and `modules` (the first of those that are in the other one); empty once "
        "all is as it should be",
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
    KEPT_GRADIENTS = (
        "kept-gradients",
        "gradients from before are still there when backward passes begin. Looked at now and then. "
        "Subject: the optimizer, by its number. Value: how many of the parameters that were looked "
        "at had one that is not zero and was added to, at each backward pass since the optimizer "
        "has stepped; 0 where they were cleared, or handed over by the script. Detail: JSON with "
        "`of` (how many were looked at) and `first` (the first that had one)",
    )
    LOSS_KIND = (
        "loss-kind",
        "a loss comes from an operation that none came from before. Subject: the operation, as "
        "the graph names it. Value: how many there were by then",
    )
    NEW_OPTIMIZER = (
        "new-optimizer",
        "the first step of an optimizer. Subject: its number, in the order in which the script "
        "made them",
    )
    INPUT_SIZE = (
        "input-size",
        "a model is trained on samples of another size than in at least 8 batches before, which "
        "were all of one size. Subject: `input`. Value: numbers per sample of the first tensor "
        "that the model is given. Detail: JSON with `before`",
    )
    PROBABILITIES_AS_LOGITS = (
        "probabilities-as-logits",
        "what a loss function that expects logits was given. Looked at now and then. Subject: the "
        "function. Value: the share of rows that are probabilities: not negative and with a sum of "
        "1; for one number per row: between 0 and 1. Detail: JSON with `rows`, `classes` and `by` "
        "(the operation that made them, where the graph tells)",
    )
    UNIT_COPIES = (
        "unit-copies",
        "how many rows of a weight differ from each other. Looked at now and then, from the first "
        "step on. Value: rows that differ, of at most 128 that were looked at. Detail: JSON with "
        "`units` (how many were looked at)",
    )
    UNIT_ACTIVITY = (
        "unit-activity",
        "how often the units of a ReLU are not zero. Looked at now and then. Value: units. Detail: "
        "JSON with `inactive` (by percent: how many units are not zero in at most so many percent "
        "of the samples) and `samples`",
    )
    INPUT_CHANNELS = (
        "input-channels",
        "the channels of images that go into a model. Looked at now and then. Value: images. "
        "Detail: JSON with `means` and `stds`, channel by channel",
    )
    INPUT_TOKENS = (
        "input-tokens",
        "the numbers that an embedding is given. Looked at now and then. Value: how many. Detail: "
        "JSON with `counts` (of the 16 most frequent)",
    )
    CLASS_HITS = (
        "class-hits",
        "predictions against labels, class by class, as a loss function was given them. Looked at "
        "now and then. Value: samples. Detail: JSON: label, then how many were right and wrong; "
        "of at most 100 classes",
    )
    LABEL_BATCH = (
        "label-batch",
        "the labels of one batch, as a loss function was given them. Looked at now and then. "
        "Value: samples. Detail: JSON: label and count; of at most 100 classes",
    )
    LABEL_HISTOGRAM = (
        "label-histogram",
        "how often each class was seen in training since the one before. Value: samples. "
        "Detail: JSON: label and count",
    )
    BATCH_HASH = (
        "batch-hash",
        "a fingerprint of the first tensor that went into a model, of those in the host's memory. "
        "Value: the fingerprint",
    )
    SAMPLES_AGAIN = (
        "samples-again",
        "the samples of an evaluation, known again by marks of what the model is given, of what is "
        "in the host's memory; of very many samples a part. Told after an evaluation of at least "
        "four training batches. Subject: the name of the evaluation. Value: the share of samples "
        "that were trained on before. Detail: "
        "JSON with `samples` (different ones), `known`, `repeated` (more often than the others), "
        "`pairs` (of samples of one batch), `mixed` (those of which one is known), `trained` (all "
        "known ones), `rows` (trained on since the evaluation before), `again` (of these, known "
        "before) and `is_training_data` (the data set also feeds training)",
    )
    BATCH_MEANS = (
        "batch-means",
        "the means of up to 100 batches one after the other, of the labels that loss functions "
        "were given or of the first input. Subject: `labels` or `input`. Value: batches. Detail: "
        "JSON with `means` (from the first on, in units of the spread inside of a batch at the "
        "beginning), `within` (the variance inside of batches in that unit), `rough` (of the steps "
        "from row to row: 1 where rows have no order) and `size` (rows)",
    )
    STANDING_STILL = (
        "standing-still",
        "no step of any mode has ended for 3 seconds and 20 times as long as the last one took; "
        "said again after twice as long. Subject: the line of the script that the training stands "
        "in. Value: seconds; 0 once it goes on. Detail: JSON with `in` (`collective`, `backward`, "
        "`device`, `loading`, `checkpoint`, `compiling`, or empty) and `stack`, the innermost last",
    )
    OUTPUT_TIME = (
        "output-time",
        "time that the training thread spent on printing, logging, formatting tensors, progress "
        "bars and summaries since the last such row. Subject: the line of the script. Value: "
        "seconds. Detail: JSON with `by` (`print`, `logging`, `tqdm`, …)",
    )
    RESIDENT_MEMORY = (
        "resident-memory",
        "memory that the process holds after a training step, in the first 10 seconds of training. "
        "Value: bytes",
    )
    THREAD_DIED = (
        "thread_died",
        "a thread ended by an exception. Subject: its name. Detail: the traceback",
    )
    EVALUATION = (
        "evaluation",
        "the result of one evaluation, recorded once training goes on. Subject: its name, such as "
        "`validation`. Value: the mean loss over its samples. Step: the training steps done before "
        "it. Detail: JSON with `data` (where the data comes from), `samples`, `batches`, "
        "`has_loss`, `eval_steps` (its first and last step in mode eval) and, where they apply, "
        "`is_training_data` (the data set also feeds training), `model` (`ema`), `metrics` and "
        "`hits` (of the predictions that were looked at: label, then right and wrong ones)",
    )
