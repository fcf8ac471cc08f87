"""Fifth set of labels: held out, judged once, used for calibration since."""

from tests.faults.labels._labels import Labels
from tests.faults.program import DOES_NOT_LEARN, NOT_A_NUMBER, STARTS_BADLY, Fault

SLOW = ("HotFunction", "StepOutlier", "ThroughputDrop", "CPUBottleneck", "Dataloader")

_FAULTS: dict[str, Fault] = {
    "demand_in_cents": Fault(
        "LossSpike",
        step=371,
        instead=("GradientNormSpike",),
        also=("ClipSaturation", "LossDiverging", "UnshuffledData"),
    ),
    "exponent_of_the_memory": Fault(
        "ParameterOutlier",
        culprit="memory",
        step=430,
        also=(
            "WeightUpdateRatio",
            "LowPrecisionOverflow",
            "SaturatedActivation",
            *NOT_A_NUMBER,
            *DOES_NOT_LEARN,
        ),
    ),
    "wrong_sign_of_divergence": Fault(
        "LossDiverging",
        also=(
            "WeightUpdateRatio",
            "GradientNormSpike",
            *NOT_A_NUMBER,
            *STARTS_BADLY,
            *DOES_NOT_LEARN,
        ),
    ),
    "schedule_on_the_first_only": Fault("ReplicaDivergence", step=100, also=("Straggler",)),
    "rare_bias_everywhere": Fault(
        "DeadRelu", culprit="middle", also=("SymmetricUnits", "VanishingGradient", *DOES_NOT_LEARN)
    ),
    "words_cut_off": Fault(
        "NoGradient",
        culprit="text",
        within=6,
        also=("ParameterNotUpdated", "UnchangedTensor", *DOES_NOT_LEARN),
    ),
    "joined_by_row": Fault(
        "LabelsUnrelated", also=("Overfit", "ClassImbalance", "LossDiverging", *DOES_NOT_LEARN)
    ),
    "folder_by_folder": Fault(
        "UnshuffledData",
        also=(
            "ClassImbalance",
            "ValidationTooGood",
            "Overfit",
            "InputNotNormalized",
            *STARTS_BADLY,
            *DOES_NOT_LEARN,
        ),
    ),
    "decay_every_batch": Fault(
        "LearningRateCollapse",
        step=160,
        also=(
            "WeightUpdateRatio",
            "UnchangedTensor",
            "ParameterNotUpdated",
            "ClipSaturation",
            *DOES_NOT_LEARN,
        ),
    ),
    "pictures_drawn_on_the_way": Fault("DataLoaderStarvation", also=SLOW),
    "every_number_in_the_log": Fault("SlowLogging", also=SLOW),
    "shoe_prints_apart": Fault(
        "ExplodingTensor", also=(*NOT_A_NUMBER, *DOES_NOT_LEARN, "WeightUpdateRatio")
    ),
    "pump_states_deep": Fault(
        "VanishingGradient",
        instead=("PoorWeightInitialization",),
        also=(*DOES_NOT_LEARN, "WeightUpdateRatio", "ClassImbalance", "SymmetricUnits"),
    ),
    "arm_reaches": Fault(
        "SaturatedActivation",
        instead=("PoorWeightInitialization",),
        also=(*DOES_NOT_LEARN, *STARTS_BADLY, "VanishingGradient"),
    ),
    "rare_bearing_damage": Fault("ClassImbalance", also=("Overtraining",)),
    "newest_letters": Fault(
        "Overfit",
        step=800,
        instead=("LabelsUnrelated",),
        also=("Overtraining", "LossDiverging", "VanishingGradient"),
    ),
    "tides_ahead": Fault(
        "ParameterNotUpdated",
        instead=("UnchangedTensor", "NoGradient"),
        also=("MissingZeroGrad", "GradientNormSpike", *DOES_NOT_LEARN),
    ),
    "running_totals_clipped": Fault(
        "ClipSaturation", also=(*DOES_NOT_LEARN, "GradientNormSpike", "LossSpike")
    ),
    "hardest_tiles": Fault(
        "ThroughputDrop",
        step=200,
        also=("HotFunction", "HostMemoryLeak", "StepOutlier", "CPUContention"),
    ),
    "packed_shard": Fault(
        "Straggler",
        also=("DataLoaderStarvation", "Dataloader", "HotFunction", "StepOutlier"),
    ),
    "short_messages": Fault("NLPSequenceRatio", also=("DataLoaderStarvation", "HotFunction")),
    "ranked_offers": Fault(
        "HotFunction", culprit="ranking_quality", also=("StepOutlier", "ThroughputDrop")
    ),
}

_WORKERS = {"schedule_on_the_first_only": 2, "packed_shard": 2}

_HEALTHY_BUT_ODD = (
    "warm_restarts_of_a_denoiser",
    "teacher_and_student",
    "ring_of_points",
    "cart_with_a_pole",
    "longer_and_longer_sums",
    "pruned_three_times",
    "codes_with_a_rising_price",
    "longer_and_longer",
    "sensors_that_fail",
    "queue_of_faces",
)

LABELS = Labels(
    faults=_FAULTS,
    healthy_but_odd=_HEALTHY_BUT_ODD,
    workers=_WORKERS,
)
