"""Second set of labels: held out, judged once, used for calibration since."""

from tests.faults.labels._labels import Labels
from tests.faults.program import (
    DOES_NOT_LEARN,
    NOT_A_NUMBER,
    OVER_SIX_STEPS,
    STARTS_BADLY,
    Fault,
)

_FAULTS: dict[str, Fault] = {
    "a_list_used_up": Fault(
        "MissingZeroGrad",
        step=1,
        within=2,
        also=(*DOES_NOT_LEARN, *STARTS_BADLY, *NOT_A_NUMBER, "WeightUpdateRatio"),
    ),
    "saves_memory_at_the_stem": Fault(
        "NoGradient",
        "stem",
        OVER_SIX_STEPS,
        within=2,
        also=("UnchangedTensor", "ParameterNotUpdated", *DOES_NOT_LEARN),
    ),
    "rounds_in_a_list": Fault(
        "ParameterNotUpdated",
        step=OVER_SIX_STEPS,
        within=2,
        also=("UnchangedTensor", "NoGradient"),
    ),
    "goes_on_with_the_best": Fault("ModeMismatch", step=100, within=2, also=("Overfit",)),
    "points_with_its_attention": Fault(
        "OutputIsProbability", within=2, also=(*DOES_NOT_LEARN, "VanishingGradient")
    ),
    "a_sensor_is_switched_off": Fault("NonFiniteInput", step=160, within=2, also=NOT_A_NUMBER),
    "cut_off_recording": Fault("ExplodingTensor", step=170, also=NOT_A_NUMBER),
    "bottleneck_rewarded": Fault(
        "LossDiverging",
        step=30,
        also=(*NOT_A_NUMBER, "WeightUpdateRatio", "PoorWeightInitialization", "ParameterOutlier"),
    ),
    "a_shard_in_cents": Fault(
        "LossSpike", step=260, instead=("GradientNormSpike",), also=("LossDiverging",)
    ),
    "rows_for_columns": Fault(
        "LossNotDecreasing", also=(*DOES_NOT_LEARN, "LabelsUnrelated", "DeadRelu")
    ),
    "slows_down_when_steep": Fault(
        "LearningRateCollapse",
        step=110,
        also=("WeightUpdateRatio", "UnchangedTensor", "ParameterNotUpdated", *DOES_NOT_LEARN),
    ),
    "forgets_the_root": Fault(
        "WeightUpdateRatio",
        also=(
            *(*STARTS_BADLY, *NOT_A_NUMBER, *DOES_NOT_LEARN),
            *("DeadRelu", "ParameterOutlier", "VanishingGradient", "UnchangedTensor"),
        ),
    ),
    "shortcuts_left_out": Fault(
        "VanishingGradient",
        "trunk",
        also=(*DOES_NOT_LEARN, "UnchangedTensor", "WeightUpdateRatio", "ParameterNotUpdated"),
    ),
    "levels_below_zero": Fault(
        "DeadRelu",
        "relu",
        also=(
            *(*DOES_NOT_LEARN, "VanishingGradient", "WeightUpdateRatio", "UnchangedTensor"),
            *("ParameterNotUpdated", "NoGradient"),
        ),
    ),
    "sums_its_points": Fault(
        "SaturatedActivation",
        "squash",
        also=(*DOES_NOT_LEARN, *STARTS_BADLY, "VanishingGradient"),
    ),
    "rare_chances": Fault(
        "GradientNormSpike", step=310, instead=("LossSpike",), also=("LossDiverging",)
    ),
    "scaled_by_both": Fault(
        "InputNotNormalized", also=(*DOES_NOT_LEARN, "VanishingGradient", "DeadRelu")
    ),
    "starts_from_the_linear_fit": Fault("SymmetricUnits", "hidden", step=1, also=DOES_NOT_LEARN),
    "measures_what_it_has_cut": Fault(
        "ClipSaturation",
        step=140,
        also=(*DOES_NOT_LEARN, "VanishingGradient", "WeightUpdateRatio", "UnchangedTensor"),
    ),
    "left_from_debugging": Fault("Overfit", step=90, also=("Overtraining", "LabelsUnrelated")),
    "below_the_noise": Fault("Overtraining", step=300, also=("LossNotDecreasing",)),
    "blocks_add_up": Fault(
        "PoorWeightInitialization",
        also=(*STARTS_BADLY, *DOES_NOT_LEARN, "DeadRelu", "WeightUpdateRatio"),
    ),
    "integers_without_their_scale": Fault(
        "ParameterOutlier",
        "hidden",
        step=300,
        also=(
            *(*NOT_A_NUMBER, *DOES_NOT_LEARN, "WeightUpdateRatio", "SaturatedActivation"),
            *("VanishingGradient", "UnchangedTensor", "ParameterNotUpdated"),
        ),
    ),
    "shrinks_at_every_batch": Fault(
        "WeightCollapse",
        also=(
            *(*DOES_NOT_LEARN, "VanishingGradient", "WeightUpdateRatio", "DeadRelu"),
            *("UnchangedTensor", "ParameterNotUpdated"),
        ),
    ),
    "back_to_orthogonal": Fault(
        "UnchangedTensor", "weight_hh", step=30, instead=("ParameterNotUpdated",)
    ),
    "one_call_in_a_hundred": Fault("ClassImbalance", step=16),
    "molecules_by_size": Fault("UnshuffledData", step=100, also=("LossSpike", *DOES_NOT_LEARN)),
    "one_model_for_all_folds": Fault(
        "ValidationTooGood", step=180, also=("Overtraining", "Overfit")
    ),
    "keeps_fifteen_percent": Fault("NLPSequenceRatio", also=DOES_NOT_LEARN),
    "in_hounsfield_units": Fault(
        "CheckInputImages",
        step=4,
        instead=("InputNotNormalized",),
        also=(
            *(*STARTS_BADLY, *DOES_NOT_LEARN, "DeadRelu", "VanishingGradient"),
            *("ClassImbalance", "WeightUpdateRatio"),
        ),
    ),
    "distances_each_time": Fault(
        "DataLoaderStarvation", step=10, also=("HotFunction", "Dataloader", "StepOutlier")
    ),
    "negatives_from_a_list": Fault("HotFunction", "draw_one_by_one", step=9),
    "rewrites_its_log": Fault("ThroughputDrop", step=100, also=("HotFunction", "StepOutlier")),
    "hook_never_removed": Fault("HostMemoryLeak", also=("ThroughputDrop",)),
    "manifest_every_epoch": Fault(
        "StepOutlier", step=25, also=("HotFunction", "DataLoaderStall", "DataLoaderStarvation")
    ),
    "restarts_lazy_units": Fault("ReplicaDivergence", step=100, within=2, also=("LossSpike",)),
    "rounds_its_glance": Fault(
        "NoGradient", "locate", OVER_SIX_STEPS, within=2, also=("UnchangedTensor",)
    ),
    "resumed_as_it_was_saved": Fault("ModeMismatch", step=200, within=2),
}

_WORKERS = {"restarts_lazy_units": 2, "joins_when_done": 2}

_HEALTHY_BUT_ODD = (
    *("mixes_pairs", "hides_most_patches", "fills_in_words", "reads_on"),
    *("actor_and_critic", "proximal", "flows_both_ways", "codebook_by_averages"),
    *("batches_grow", "swings_its_rate", "pretext_first", "echo_state"),
    *("two_paces", "solves_an_equation", "two_towers", "claims_of_a_year"),
    *("shops_of_all_sizes", "walks_forward", "one_graph_for_all", "predicts_links"),
    *("two_views", "sees_a_quarter", "moves_towards_its_copies", "eight_at_once"),
    *(
        "rounds_its_weights",
        "exact_weights_beside",
        "as_many_words_as_fit",
        "shards_through_a_buffer",
    ),
    *("rebuilds_then_names", "other_loss_from_half", "hard_ones_only", "soft_actor_critic"),
    *("asks_for_labels", "joins_when_done"),
)

LABELS = Labels(
    faults=_FAULTS,
    healthy_but_odd=_HEALTHY_BUT_ODD,
    workers=_WORKERS,
)
