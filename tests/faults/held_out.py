"""Programs that nobody who makes rules has looked at: they are judged in the end, once."""

from tests.faults.program import (
    DOES_NOT_LEARN,
    NOT_A_NUMBER,
    OVER_SIX_STEPS,
    STARTS_BADLY,
    Fault,
)

FAULTS: dict[str, Fault] = {
    "normed_afterwards": Fault(
        "ParameterNotUpdated",
        "scores",
        OVER_SIX_STEPS,
        within=2,
        also=("UnchangedTensor", "NoGradient"),
    ),
    "codes_without_a_bridge": Fault(
        "NoGradient", "encoder", OVER_SIX_STEPS, within=2, also=("UnchangedTensor",)
    ),
    "chief_validates": Fault("ModeMismatch", step=80, within=2),
    "cleared_once_an_epoch": Fault(
        "MissingZeroGrad",
        step=1,
        within=2,
        also=(*DOES_NOT_LEARN, *STARTS_BADLY, *NOT_A_NUMBER, "WeightUpdateRatio"),
    ),
    "pixels_as_probabilities": Fault("OutputIsProbability", within=2, also=DOES_NOT_LEARN),
    "averages_its_neighbours": Fault("SymmetricUnits", "gather", step=1, also=DOES_NOT_LEARN),
    "stored_as_half": Fault("NonFiniteInput", step=90, within=2, also=NOT_A_NUMBER),
    "attends_to_nothing": Fault("ExplodingTensor", step=120, also=NOT_A_NUMBER),
    "in_volts": Fault(
        "InputNotNormalized",
        also=(*STARTS_BADLY, *DOES_NOT_LEARN, "VanishingGradient", "DeadRelu"),
    ),
    "divides_by_the_decay": Fault(
        "LossDiverging",
        step=500,
        also=(*NOT_A_NUMBER, *DOES_NOT_LEARN, "ClipSaturation", "WeightUpdateRatio"),
    ),
    "rarely_shown": Fault("LossSpike", step=260, also=("GradientNormSpike",)),
    "scaled_again_and_again": Fault(
        "LearningRateCollapse", also=("WeightUpdateRatio", "UnchangedTensor", *DOES_NOT_LEARN)
    ),
    "clips_the_scaled": Fault(
        "ClipSaturation",
        also=(*DOES_NOT_LEARN, "VanishingGradient", "WeightUpdateRatio", "UnchangedTensor"),
    ),
    "decay_without_the_rate": Fault(
        "WeightCollapse", also=(*DOES_NOT_LEARN, "VanishingGradient", "WeightUpdateRatio")
    ),
    "gates_nearly_shut": Fault("VanishingGradient", "highway", also=("UnchangedTensor",)),
    "clamped_on_the_wrong_side": Fault(
        "DeadRelu",
        "relu",
        also=(
            *(*DOES_NOT_LEARN, "VanishingGradient", "WeightUpdateRatio"),
            *("UnchangedTensor", "ParameterNotUpdated"),
        ),
    ),
    "too_high_a_frequency": Fault(
        "SaturatedActivation", "bend", also=(*DOES_NOT_LEARN, "VanishingGradient")
    ),
    "fan_without_channels": Fault("PoorWeightInitialization", also=STARTS_BADLY),
    "scaled_with_the_batch": Fault(
        "WeightUpdateRatio",
        step=280,
        also=(*NOT_A_NUMBER, *DOES_NOT_LEARN),
    ),
    "reads_the_header_too": Fault(
        "ParameterOutlier", "read", step=180, also=(*NOT_A_NUMBER, "WeightUpdateRatio")
    ),
    "masks_the_wrong_side": Fault("NLPSequenceRatio", also=DOES_NOT_LEARN),
    "normalised_with_other_statistics": Fault(
        "CheckInputImages",
        instead=("InputNotNormalized",),
        also=(*STARTS_BADLY, *DOES_NOT_LEARN),
    ),
    "weights_upside_down": Fault("ClassImbalance"),
    "mask_the_wrong_way_round": Fault(
        "LossNotDecreasing", also=("Overtraining", "VanishingGradient")
    ),
    "ratings_without_decay": Fault("Overfit", also=("Overtraining", "LossNotDecreasing")),
    "patience_never_ends": Fault("Overtraining", also=("LossNotDecreasing",)),
    "split_twice": Fault("LabelsUnrelated", also=("Overfit", "LossNotDecreasing")),
    "same_text_for_both": Fault("ValidationTooGood"),
    "split_at_random_each_time": Fault("ValidationTooGood"),
    "buffer_of_one_class": Fault(
        "UnshuffledData",
        also=("LossSpike", "GradientNormSpike", "LossNotDecreasing", "LossDiverging"),
    ),
    "ordered_by_price": Fault(
        "UnshuffledData", also=("LossSpike", "GradientNormSpike", "LossNotDecreasing")
    ),
    "gains_that_cannot_move": Fault("UnchangedTensor", instead=("ParameterNotUpdated",)),
    "one_long_document": Fault(
        "GradientNormSpike",
        step=150,
        also=("LossSpike", "LossNotDecreasing", "WeightUpdateRatio", "ExplodingTensor"),
    ),
    "scale_grows_too_fast": Fault("LowPrecisionOverflow", also=("ExplodingTensor",)),
    "spectrograms_again": Fault("DataLoaderStarvation", also=("Dataloader", "HotFunction")),
    "tries_again_later": Fault("DataLoaderStall", step=210, also=("StepOutlier", "Dataloader")),
    "first_worker_keeps_the_books": Fault("Straggler", "worker 0", also=("HotFunction",)),
    "forgets_to_swap_back": Fault("ReplicaDivergence", step=120, within=2),
    "a_handler_more": Fault("ThroughputDrop", step=50, also=("HotFunction", "StepOutlier")),
    "anchors_one_by_one": Fault("HotFunction", "match_anchors"),
    "outputs_of_all_epochs": Fault("HostMemoryLeak"),
    "fetches_in_chunks": Fault("StepOutlier", also=("Dataloader", "DataLoaderStarvation")),
}

SEVERAL_WORKERS = {
    "chief_validates": 2,
    "first_worker_keeps_the_books": 2,
    "forgets_to_swap_back": 2,
    "sentences_as_they_come": 2,
    "averages_now_and_then": 2,
}

ODD = (
    *("begins_as_identity", "denoises", "five_folds", "learns_to_adapt", "pruned_in_rounds"),
    *("sharpness_aware", "soft_prompt", "weighs_its_experts"),
    *("averages_now_and_then", "huggingface_smoothed", "keeps_decoded_pictures"),
    *("mostly_background", "penalty_every_sixteenth", "reshuffles_its_index"),
    *("sentences_as_they_come", "short_sentences_first"),
)
