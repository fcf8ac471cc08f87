"""First set of labels: held out, judged once, used for calibration since."""

from tests.faults.labels._labels import Labels
from tests.faults.program import (
    DOES_NOT_LEARN,
    NOT_A_NUMBER,
    OVER_SIX_STEPS,
    STARTS_BADLY,
    Fault,
    Parameters,
)

_FAULTS: dict[str, Fault] = {
    "head_replaced": Fault(
        "ParameterNotUpdated", "head", OVER_SIX_STEPS, within=2, also=("UnchangedTensor",)
    ),
    "detached_branch": Fault("NoGradient", "image.", OVER_SIX_STEPS, within=2),
    "never_back_to_train": Fault("ModeMismatch", step=47, within=2),
    "zero_grad_forgotten": Fault(
        "MissingZeroGrad", step=1, within=2, also=(*DOES_NOT_LEARN, *STARTS_BADLY)
    ),
    "softmax_twice": Fault("OutputIsProbability", within=2, also=DOES_NOT_LEARN),
    "constant_weights": Fault("SymmetricUnits", "0.weight", step=1, also=DOES_NOT_LEARN),
    "missing_values": Fault("NonFiniteInput", step=81, within=2, also=NOT_A_NUMBER),
    "log_of_zero": Fault("ExplodingTensor", also=NOT_A_NUMBER),
    "raw_table": Fault("InputNotNormalized", also=(*STARTS_BADLY, *DOES_NOT_LEARN)),
    "padded_to_the_maximum": Fault("NLPSequenceRatio", "0"),
    "rate_too_high": Fault("LossDiverging", step=100, also=(*NOT_A_NUMBER, *DOES_NOT_LEARN)),
    "one_broken_batch": Fault("LossSpike", "200", step=200, also=("GradientNormSpike",)),
    "decay_per_batch": Fault("LearningRateCollapse", also=("WeightUpdateRatio", *DOES_NOT_LEARN)),
    "clipped_to_nothing": Fault("ClipSaturation", also=DOES_NOT_LEARN),
    "decayed_to_zero": Fault(
        "WeightCollapse", also=(*DOES_NOT_LEARN, "VanishingGradient", "DeadRelu")
    ),
    "labels_misaligned": Fault("LabelsUnrelated", also=("Overfit", "LossNotDecreasing")),
    "sorted_by_class": Fault("UnshuffledData", also=("LossSpike", "LossNotDecreasing")),
    "slow_dataset": Fault("DataLoaderStarvation", also=("Dataloader", "HotFunction")),
    "slower_with_time": Fault("ThroughputDrop", also=("HotFunction", "StepOutlier")),
    "born_dead": Fault("DeadRelu", "relu2", also=(*DOES_NOT_LEARN, "VanishingGradient")),
    "saturated_tanh": Fault(
        "SaturatedActivation", "tanh", also=(*DOES_NOT_LEARN, "VanishingGradient")
    ),
    "deep_sigmoids": Fault("VanishingGradient", "0.weight", also=DOES_NOT_LEARN),
    "weights_of_one": Fault("PoorWeightInitialization", also=STARTS_BADLY),
    "rate_of_nothing": Fault(
        "WeightUpdateRatio",
        instead=("LossNotDecreasing",),
        also=("UnchangedTensor", *DOES_NOT_LEARN),
    ),
    "shuffled_apart": Fault("LossNotDecreasing", also=DOES_NOT_LEARN),
    "rare_class": Fault("ClassImbalance"),
    "overfitting": Fault("Overfit", also=("Overtraining", "LossNotDecreasing")),
    "keeps_the_graph": Fault("HostMemoryLeak"),
    "too_many_workers": Fault("Dataloader"),
    "straggler": Fault("Straggler", "worker 1"),
    "lightning_scheduler": Fault(
        "LearningRateCollapse", also=("WeightUpdateRatio", *DOES_NOT_LEARN)
    ),
    "half_of_the_autoencoder": Fault(
        "ParameterNotUpdated", "encoder", OVER_SIX_STEPS, within=2, also=("UnchangedTensor",)
    ),
    "through_numpy": Fault("NoGradient", "embedding", OVER_SIX_STEPS, within=2),
    "evaluation_with_dropout": Fault("ModeMismatch", step=50, within=2),
    "zero_grad_of_another": Fault("MissingZeroGrad", "1", step=1, within=2, also=STARTS_BADLY),
    "sigmoid_twice": Fault("OutputIsProbability", within=2, also=DOES_NOT_LEARN),
    "ones_in_the_network": Fault("SymmetricUnits", "0.weight", step=1, also=DOES_NOT_LEARN),
    "constant_columns": Fault("NonFiniteInput", within=2, also=NOT_A_NUMBER),
    "square_root_at_zero": Fault("ExplodingTensor", step=90, also=NOT_A_NUMBER),
    "bytes_as_images": Fault(
        "CheckInputImages",
        instead=("InputNotNormalized",),
        also=(*STARTS_BADLY, *DOES_NOT_LEARN, "DeadRelu"),
    ),
    "without_a_floor": Fault("LossDiverging", also=("GradientNormSpike",)),
    "uphill": Fault(
        "LossDiverging", instead=("LossNotDecreasing",), also=(*NOT_A_NUMBER, *STARTS_BADLY)
    ),
    "steep_place": Fault("GradientNormSpike", "150", step=150, also=("LossSpike",)),
    "schedule_of_one_epoch": Fault(
        "LearningRateCollapse", also=("WeightUpdateRatio", *DOES_NOT_LEARN)
    ),
    "huggingface_clipped": Fault("ClipSaturation", also=DOES_NOT_LEARN),
    "penalty_outweighs": Fault("WeightCollapse", also=(*DOES_NOT_LEARN, "VanishingGradient")),
    "validated_on_the_training_set": Fault("ValidationTooGood"),
    "flipped_bit": Fault(
        "ParameterOutlier", "conv2", step=120, also=(*NOT_A_NUMBER, "WeightUpdateRatio")
    ),
    "half_precision_overflows": Fault("LowPrecisionOverflow", also=("ExplodingTensor",)),
    "waits_for_the_network": Fault(
        "DataLoaderStall", "120", step=120, also=("StepOutlier", "Dataloader")
    ),
    "slow_metric": Fault("HotFunction", "count_confusions"),
    "writes_now_and_then": Fault("StepOutlier"),
    "killed_by_the_rate": Fault(
        "DeadRelu",
        "relu",
        also=(*DOES_NOT_LEARN, *STARTS_BADLY, "VanishingGradient", "WeightUpdateRatio"),
    ),
    "saturated_sigmoid": Fault(
        "SaturatedActivation", "squash", also=(*DOES_NOT_LEARN, "VanishingGradient")
    ),
    "forgets_the_beginning": Fault("VanishingGradient", "read", also=DOES_NOT_LEARN),
    "small_weights": Fault(
        "PoorWeightInitialization",
        instead=("VanishingGradient",),
        also=(*DOES_NOT_LEARN, "WeightUpdateRatio", "UnchangedTensor", "DeadRelu"),
    ),
    "steps_too_large": Fault(
        "WeightUpdateRatio", also=(*STARTS_BADLY, *DOES_NOT_LEARN, "DeadRelu")
    ),
    "huggingface_labels": Fault("LossNotDecreasing", also=DOES_NOT_LEARN),
    "rate_zero_in_a_group": Fault(
        "ParameterNotUpdated",
        "stem",
        OVER_SIX_STEPS,
        within=2,
        instead=("UnchangedTensor",),
        also=("LearningRateCollapse", "WeightUpdateRatio"),
    ),
    "goes_on_for_nothing": Fault("Overtraining", also=("LossNotDecreasing",)),
    "replicas_differ": Fault("ReplicaDivergence", within=2),
    "one_does_not_come": Fault("CollectiveHang", "worker 1", step=79, also=("StepOutlier",)),
    "waits_for_nothing": Fault("StalledTrainingRule", step=180, also=("StepOutlier",)),
    "slow_start": Fault("MaxInitializationTime"),
    "masked_away": Fault("AllZero", "gate", instead=("DeadRelu",), also=("VanishingGradient",)),
    "members_of_one_seed": Fault("SimilarAcrossRuns", "weight"),
    "layer_was_renamed": Fault(
        "ParameterNotUpdated", "projection", OVER_SIX_STEPS, within=2, also=("UnchangedTensor",)
    ),
    "looked_at_without_gradients": Fault(
        "NoGradient", "encoder", OVER_SIX_STEPS, within=2, also=("UnchangedTensor",)
    ),
    "writes_a_sample": Fault("ModeMismatch", step=60, within=2),
    "closure_without_zero_grad": Fault(
        "MissingZeroGrad", step=1, within=2, also=(*DOES_NOT_LEARN, *STARTS_BADLY, *NOT_A_NUMBER)
    ),
    "predicts_in_training": Fault("OutputIsProbability", within=2, also=DOES_NOT_LEARN),
    "every_parameter_alike": Fault("SymmetricUnits", "conv", step=1, also=DOES_NOT_LEARN),
    "logarithm_of_no_price": Fault("NonFiniteInput", step=110, within=2, also=NOT_A_NUMBER),
    "batch_of_one": Fault("ExplodingTensor", step=40, also=NOT_A_NUMBER),
    "pressure_in_pascal": Fault("InputNotNormalized", also=(*STARTS_BADLY, *DOES_NOT_LEARN)),
    "unknown_words": Fault("NLPSequenceRatio", "0", also=DOES_NOT_LEARN),
    "divided_by_the_discount": Fault("LossDiverging", also=(*NOT_A_NUMBER, *DOES_NOT_LEARN)),
    "patience_in_batches": Fault(
        "LearningRateCollapse", also=("WeightUpdateRatio", "UnchangedTensor", *DOES_NOT_LEARN)
    ),
    "sum_instead_of_mean": Fault("ClipSaturation", also=DOES_NOT_LEARN),
    "decay_of_ten": Fault("WeightCollapse", also=(*DOES_NOT_LEARN, "VanishingGradient")),
    "names_sorted_as_text": Fault("LabelsUnrelated", also=("Overfit", "LossNotDecreasing")),
    "shards_in_both": Fault("ValidationTooGood"),
    "one_site_after_another": Fault(
        "UnshuffledData", also=("LossSpike", "GradientNormSpike", "LossNotDecreasing")
    ),
    "vectors_in_other_units": Fault(
        "ParameterOutlier", "embedding", step=130, also=(*NOT_A_NUMBER, "WeightUpdateRatio")
    ),
    "parses_every_line": Fault("DataLoaderStarvation", also=("Dataloader", "HotFunction")),
    "longer_texts_for_one": Fault("Straggler", "worker 1"),
    "skips_its_short_batches": Fault("ReplicaDivergence", step=29, within=2),
    "cache_without_end": Fault("HostMemoryLeak"),
    "broadcast_by_mistake": Fault("LossNotDecreasing", also=DOES_NOT_LEARN),
    "wrong_side_of_the_margin": Fault(
        "DeadRelu",
        "relu",
        also=(
            *(*DOES_NOT_LEARN, "VanishingGradient", "WeightUpdateRatio"),
            *("UnchangedTensor", "ParameterNotUpdated"),
        ),
    ),
    "temperature_upside_down": Fault(
        "SaturatedActivation", "likes", also=(*DOES_NOT_LEARN, "VanishingGradient")
    ),
    "learns_numbers_by_heart": Fault("Overfit", also=("Overtraining", "LossNotDecreasing")),
    "counts_edits": Fault("HotFunction", "edit_distance"),
    "searches_for_errors": Fault("ThroughputDrop", step=150, also=("HotFunction", "StepOutlier")),
    "positions_in_metres": Fault("TensorVariance", "cities", also=(*STARTS_BADLY, *DOES_NOT_LEARN)),
    "keeps_every_checkpoint": Fault("DiskFull", "disk"),
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

_WORKERS = {
    "straggler": 2,
    "replicas_differ": 2,
    "one_does_not_come": 2,
    "longer_texts_for_one": 2,
    "skips_its_short_batches": 2,
    "chief_validates": 2,
    "first_worker_keeps_the_books": 2,
    "forgets_to_swap_back": 2,
    "sentences_as_they_come": 2,
    "averages_now_and_then": 2,
}
_PARAMETERS: dict[str, Parameters] = {
    "masked_away": {"AllZero": {"collection_names": ("relu_output",)}},
    "slow_start": {"MaxInitializationTime": {"threshold": 0.15}},
    "waits_for_nothing": {"StalledTrainingRule": {"threshold": 5.0}},
    "one_does_not_come": {"CollectiveHang": {"seconds": 8.0}},
    "positions_in_metres": {"TensorVariance": {"max_threshold": 1e6}},
}

_DISK_MIB = {"keeps_every_checkpoint": 120}

_COMPARED_BY = {"members_of_one_seed": "SimilarAcrossRuns"}

_HEALTHY_BUT_ODD = (
    *("accumulation", "adapters", "adds_two_of_twenty", "adversarial", "always_clipped"),
    *("annealed_vae", "batches_of_four", "contrastive", "converged_before", "curriculum"),
    *("distillation", "experts"),
    *("frozen_backbone", "gan", "layers_left_out", "limited_memory", "long_evaluations"),
    *("two_parameters", "negative_likelihood", "one_batch", "one_hot_inputs", "plateau_then_drop"),
    *("policy_gradient", "q_learning", "rarely_clicked", "returns_of_tomorrow", "scaler_settles"),
    *("smoothed_labels", "sparse_embeddings"),
    *("strong_dropout", "thirty_steps", "tied_weights", "warm_restarts", "warm_up_from_zero"),
    *("wasserstein", "zero_at_the_end"),
    *("averaged_in_the_end", "follows_slowly", "gentler_below", "growing_pictures"),
    *("looks_around_first", "one_cycle", "recomputed_activations", "second_task_later"),
    *("thawed_in_stages", "triplets_become_easy", "wrong_labels_on_purpose"),
    *("begins_as_identity", "denoises", "five_folds", "learns_to_adapt", "pruned_in_rounds"),
    *("sharpness_aware", "soft_prompt", "weighs_its_experts"),
    *("averages_now_and_then", "huggingface_smoothed", "keeps_decoded_pictures"),
    *("mostly_background", "penalty_every_sixteenth", "reshuffles_its_index"),
    *("sentences_as_they_come", "short_sentences_first"),
    *("arcface_digits", "bagging", "board_values", "deep_clustering", "income_early_stopping"),
    *("level_free_forecast", "lottery_ticket", "masked_columns", "melody_hold"),
    *("multitask_uncertainty", "probe_in_eval", "random_features_eval", "tcn_many_series"),
    *("weighted_rare",),
)

LABELS = Labels(
    faults=_FAULTS,
    healthy_but_odd=_HEALTHY_BUT_ODD,
    workers=_WORKERS,
    parameters=_PARAMETERS,
    disk_mib=_DISK_MIB,
    compared_by=_COMPARED_BY,
)
