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
    """What an observation is about; each meaning describes its subject, value and detail."""

    meaning: str

    def __new__(cls, kind: str, meaning: str) -> "ObservationKind":
        """Create a kind with its meaning, for the reference."""
        member = str.__new__(cls, kind)
        member._value_ = kind
        member.meaning = meaning
        return member

    UNOWNED_PARAMETER = (
        "unowned-parameter",
        "A model parameter gets gradients, is in no optimizer and does not change. Value: 1 if an "
        "optimizer holds a parameter of the same shape that no model uses (the optimizer was made "
        "before the layer was replaced), 2 if the layer is in a plain list or dict of a module, "
        "otherwise 0. Detail: JSON with `is_over` when this has ended",
    )
    NO_GRADIENT = (
        "no-gradient",
        "A parameter in an optimizer has no gradient, while others have one. Value: consecutive "
        "optimizer steps without a gradient; 0 once it has one. Detail: JSON with `use`, how its "
        "layer is used: `cut` (runs before every layer that gets gradients), `side` (runs after "
        "some of them), "
        "`untracked` (runs under no_grad() at every step), `frozen` (the same, with loaded or "
        "previously trained weights, or not at every step), `unused` (does not run); empty if "
        "unknown. With `at_every_step`, `line` is the line of the script. `cleared`, for the first "
        "parameter: all gradients were cleared between the backward pass and the step. `is_over` "
        "once it has a gradient",
    )
    UNMOVED_PARAMETER = (
        "unmoved-parameter",
        "A sample of a parameter's elements does not change although their gradients are large "
        "enough. Value: optimizer steps; 0 once it changes. Detail: JSON with `learning_rate`, if "
        "it has one, and `is_over` once it changes",
    )
    REPLICA_CHECKSUM = (
        "replica-checksum",
        "A checksum of all parameters of a model before the step updates them; workers with "
        "bit-identical parameters have equal checksums. Value: 1 if the model is wrapped to be "
        "identical on all workers, otherwise 0. Detail: JSON with `checksum` (hexadecimal) "
        "and `is_wrapped`",
    )
    REPLICA_FINGERPRINT = (
        "replica-fingerprint",
        "A checksum of a few bytes of a model in host memory, before each step updates it, if "
        "there are several workers: up to 2,048 bytes from the middle of up to four parameters. "
        "Value: the checksum. Detail: JSON with `parameters` (their indices in the model) and "
        "`is_wrapped` (to be identical on all workers); compare only fingerprints with equal "
        "detail",
    )
    MODULE_MODE = (
        "module-mode",
        "A model, or some of its modules, are not in the mode of the step. Value: modules in the "
        "wrong mode that behave differently in it (dropout, batch normalization), except, in "
        "training, modules whose own parameters are all frozen. Detail: JSON with `is` (the mode "
        "of the model) and `modules` (the first modules in the wrong mode); empty once all modes "
        "match",
    )
    FIRST_NON_FINITE = (
        "first-non-finite",
        "Where a non-finite loss or gradient came from. Subject: the module, parameter or input. "
        "Value: the step with the non-finite loss or gradient. Detail: JSON with `found` (`nan`, "
        "`inf`, or `finite`: the next forward pass was finite) and `in` (`input`, `weight`, "
        "`output`, `loss`, `gradient`, or `model`: with finite inputs and weights)",
    )
    REFUSED_STEP = (
        "refused-step",
        "An optimizer step on non-finite gradients was prevented, and the job was stopped. "
        "Subject: the first parameters with such gradients, empty on workers without any. "
        "Value: the number of workers with such gradients. Detail: JSON with these `parameters`",
    )
    KEPT_GRADIENTS = (
        "kept-gradients",
        "Gradients of earlier steps still exist when backward passes begin. Sampled "
        "periodically. Subject: the optimizer, by its number. Value: sampled parameters whose "
        "gradient was nonzero and was added to, at each backward pass since the optimizer's last "
        "step; 0 if they were cleared, or replaced by the script. Detail: JSON with `of` "
        "(parameters sampled) and `first` (the first such parameter)",
    )
    LOSS_KIND = (
        "loss-kind",
        "A loss comes from an operation that produced no loss before. Subject: the operation, as "
        "named in the autograd graph. Value: the number of such operations so far",
    )
    NEW_OPTIMIZER = (
        "new-optimizer",
        "The first step of an optimizer. Subject: its number, in order of creation",
    )
    INPUT_SIZE = (
        "input-size",
        "The size of training samples changes after at least 8 batches of one size. Subject: "
        "`input`. Value: elements per sample of the model's first input tensor. Detail: JSON with "
        "`before`",
    )
    PROBABILITIES_AS_LOGITS = (
        "probabilities-as-logits",
        "The inputs of a loss function that expects logits. Sampled periodically. Subject: the "
        "function. Value: the share of rows that are probabilities: nonnegative with a sum of 1, "
        "or, for one element per row, between 0 and 1. Detail: JSON with `rows`, `classes` and "
        "`by` (the operation that produced them, if the autograd graph shows it)",
    )
    UNIT_COPIES = (
        "unit-copies",
        "How many rows of a weight differ from each other. Sampled periodically, from the first "
        "step on. Value: distinct rows, of up to 128 sampled. Detail: JSON with `units` (rows "
        "sampled)",
    )
    UNIT_ACTIVITY = (
        "unit-activity",
        "How often the units of a ReLU are nonzero. Sampled periodically. Value: units. Detail: "
        "JSON with `inactive` (by percentage: units that are nonzero in at most that percentage "
        "of samples) and `samples`",
    )
    INPUT_CHANNELS = (
        "input-channels",
        "Statistics of the image channels that go into a model. Sampled periodically. Value: "
        "images. Detail: JSON with `means` and `stds` per channel",
    )
    INPUT_TOKENS = (
        "input-tokens",
        "The token IDs that go into an embedding. Sampled periodically. Value: tokens. Detail: "
        "JSON with `counts` (of the 16 most frequent tokens)",
    )
    CLASS_HITS = (
        "class-hits",
        "Correct and incorrect predictions per class, from the inputs of a loss function. Sampled "
        "periodically. Value: samples. Detail: JSON with the number of correct and incorrect "
        "predictions by label, for up to 100 classes",
    )
    LABEL_BATCH = (
        "label-batch",
        "The labels of one batch, from the inputs of a loss function. Sampled periodically. "
        "Value: samples. Detail: JSON with counts by label, for up to 100 classes",
    )
    LABEL_HISTOGRAM = (
        "label-histogram",
        "How often each class occurred in training since the last histogram. Value: samples. "
        "Detail: JSON with counts by label",
    )
    BATCH_HASH = (
        "batch-hash",
        "A fingerprint of the first tensor that went into a model, if it is in host memory. "
        "Value: the fingerprint",
    )
    SAMPLES_AGAIN = (
        "samples-again",
        "How many samples of an evaluation were also trained on, by hashes of model inputs in "
        "host memory; large data sets are subsampled. Recorded after an evaluation of at least "
        "four training batches. Subject: the name of the evaluation. Value: the share of samples "
        "that were trained on before. Detail: JSON with `samples` (distinct), `known` (trained on "
        "before), `repeated` (more frequent than the others), `pairs` (of samples of one batch), "
        "`mixed` (pairs of which one sample is known), `trained` (distinct training samples), "
        "`rows` (trained on since the last evaluation), `again` (of these, known before) and "
        "`is_training_data` (the data set also feeds training)",
    )
    BATCH_MEANS = (
        "batch-means",
        "The means of up to 100 consecutive batches, of the labels passed to loss functions or of "
        "the first input. Subject: `labels` or `input`. Value: batches. Detail: JSON with `means` "
        "(relative to the first batches, in units of the spread within a batch), `within` (the "
        "variance within batches in that unit), `rough` (of differences between consecutive rows: "
        "1 if rows are unordered) and `size` (rows)",
    )
    STANDING_STILL = (
        "standing-still",
        "No step of any mode has ended for 3 seconds and 20 times the duration of the last one; "
        "repeated at doubling intervals. Subject: the line of the script that the training is "
        "stuck in. Value: seconds; 0 once it continues. Detail: JSON with `in` (`collective`, "
        "`backward`, `device`, `loading`, `checkpoint`, `compiling`, or empty) and `stack`, the "
        "innermost frame last",
    )
    RECOMPILATION = (
        "recompilation",
        "`torch.compile` compiled a function again. Subject: the function. Value: the seconds it "
        "took. Detail: JSON with `line`, where the function is defined, and `reason`, the guard "
        "that failed",
    )
    OUTPUT_TIME = (
        "output-time",
        "Time that the training thread spent on printing, logging, formatting tensors, progress "
        "bars and summaries since the last such row. Subject: the line of the script. Value: "
        "seconds. Detail: JSON with `by` (`print`, `logging`, `tqdm`, …)",
    )
    RESIDENT_MEMORY = (
        "resident-memory",
        "Resident memory of the process after a training step, in the first 10 seconds of "
        "training. Value: bytes",
    )
    THREAD_DIED = (
        "thread_died",
        "A thread ended with an exception. Subject: its name. Detail: the traceback",
    )
    EVALUATION = (
        "evaluation",
        "The result of one evaluation, recorded once training continues. Subject: its name, such "
        "as `validation`. Value: the mean loss over its samples. Step: the training steps done "
        "before it. Detail: JSON with `data` (where the data comes from), `samples`, `batches`, "
        "`has_loss`, `eval_steps` (its first and last step in mode eval) and, where they apply, "
        "`is_training_data` (the data set also feeds training), `model` (`ema`), `metrics` and "
        "`hits` (correct and incorrect predictions by label, of those inspected)",
    )
    PREDICTION_QUALITY = (
        "prediction-quality",
        "The predictions of a boosted model for one data set, compared with the labels, at "
        "inspected rounds and after the last one. Subject: the data set. Value: its rows. Detail: "
        "JSON with `task` (binary, multiclass or regression), `compared` (rows used), "
        "`is_training_data`, and, by task, `classes` and `confusion`, `true_positive_rates` (at "
        "evenly spaced false positive rates) and `auc`, or `residual_edges`, `residuals`, "
        "`label_edges`, `label_counts`, `label_errors` and `r_squared`",
    )
    FEATURE_IMPORTANCE = (
        "feature-importance",
        "The importance of the features of a boosted model, at inspected rounds and after the last "
        "one. Subject: `feature_importance/` and the kind, or `average_shap`. Value: the number of "
        "features. Detail: JSON with `names` and `values` of the most important ones, `used` "
        "(features above zero) and `total`",
    )
    TREES = (
        "trees",
        "The trees that a boosting round has added. Recorded at inspected rounds. Value: the depth "
        "of the deepest one. Detail: JSON with `trees`, `depth`, `leaves` and `rows` (of the "
        "training data)",
    )
    HYPERPARAMETERS = (
        "hyperparameters",
        "The parameters of a boosted model, after its first round. Subject: the library. Value: "
        "the number of the training in this process. Detail: JSON with `values`",
    )
    EARLY_STOPPING = (
        "early-stopping",
        "The best round of a training with early stopping. Value: its step. Detail: JSON with "
        "`score`, `rounds` (of this training) and `is_stopped`",
    )
