"""Fourth set of labels: held out, judged once, used for calibration since."""

from tests.faults.labels._labels import Labels
from tests.faults.program import DOES_NOT_LEARN, NOT_A_NUMBER, STARTS_BADLY, Fault

_FAULTS: dict[str, Fault] = {
    "share_in_percent": Fault(
        "DeadRelu",
        also=(*DOES_NOT_LEARN, "VanishingGradient", "WeightUpdateRatio", "ClassImbalance"),
    ),
    "average_on_the_first": Fault("Straggler", culprit="worker 0", also=("HotFunction",)),
    "until_ninety_percent": Fault("Overtraining", step=200),
    "leftover_of_the_epoch": Fault(
        "GradientNormSpike", step=206, instead=("LossSpike",), also=("LossDiverging",)
    ),
    "infrared_in_counts": Fault(
        "CheckInputImages",
        instead=("InputNotNormalized",),
        also=(*STARTS_BADLY, "ClassImbalance", "LossNotDecreasing"),
    ),
    "sign_lost_in_the_settings": Fault(
        "WeightUpdateRatio",
        also=(*DOES_NOT_LEARN, "ParameterNotUpdated", "UnchangedTensor"),
    ),
    "one_part_to_a_step": Fault(
        "MissingZeroGrad",
        step=1,
        within=2,
        also=(
            *NOT_A_NUMBER,
            *DOES_NOT_LEARN,
            "WeightUpdateRatio",
            "SaturatedActivation",
            "ParameterOutlier",
        ),
    ),
    "decoder_copies_its_encoder": Fault(
        "UnchangedTensor",
        culprit="decoder",
        instead=("ParameterNotUpdated",),
        also=(*DOES_NOT_LEARN, "LossDiverging"),
    ),
    "noise_of_each_ones_own": Fault("ReplicaDivergence", step=90, within=2),
    "stars_in_electrons": Fault(
        "InputNotNormalized",
        also=(*DOES_NOT_LEARN, *STARTS_BADLY, "DeadRelu", "ClassImbalance"),
    ),
    "words_of_another_acid": Fault("NLPSequenceRatio", also=DOES_NOT_LEARN),
    "more_genes_than_patients": Fault("Overfit", step=60, also=("Overtraining",)),
    "rest_of_another_order": Fault("ValidationTooGood", step=63),
    "seen_before": Fault(
        "ThroughputDrop", step=50, also=("HotFunction", "DataLoaderStarvation", "StepOutlier")
    ),
    "drops_rows_on_one_side": Fault("LabelsUnrelated", also=("Overfit", "Overtraining")),
    "asks_without_an_index": Fault("DataLoaderStarvation", also=("Dataloader", "HotFunction")),
    "multiplies_the_whole_power": Fault(
        "LearningRateCollapse",
        step=154,
        also=(*DOES_NOT_LEARN, "WeightUpdateRatio", "UnchangedTensor", "ParameterNotUpdated"),
    ),
    "five_models_in_one_tensor": Fault(
        "PoorWeightInitialization",
        also=("VanishingGradient", "DeadRelu", "LossNotDecreasing", "WeightUpdateRatio"),
    ),
    "means_of_each_kind": Fault("ExplodingTensor", step=111, also=NOT_A_NUMBER),
    "threshold_as_it_is": Fault(
        "WeightCollapse",
        also=(
            *DOES_NOT_LEARN,
            "VanishingGradient",
            "DeadRelu",
            "SymmetricUnits",
            "UnchangedTensor",
            "ParameterNotUpdated",
            "WeightUpdateRatio",
        ),
    ),
    "limit_shared_by_the_batch": Fault("ClipSaturation", also=("LossNotDecreasing",)),
}

_WORKERS = {"average_on_the_first": 2, "noise_of_each_ones_own": 2}

_HEALTHY_BUT_ODD = (
    "integrates_its_slopes",
    "no_patient_stands_out",
    "settles_before_it_learns",
    "speaks_in_spikes",
    "each_layer_for_itself",
    "cannot_tell_where_from",
    "each_block_has_its_own_goal",
    "pays_for_its_budget",
    "samples_instead_of_settling",
)

LABELS = Labels(
    faults=_FAULTS,
    healthy_but_odd=_HEALTHY_BUT_ODD,
    workers=_WORKERS,
)
