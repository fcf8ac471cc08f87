"""Sixth set of labels: held out, judged once, used for calibration since."""

from tests.faults.labels._labels import Labels
from tests.faults.program import DOES_NOT_LEARN, NOT_A_NUMBER, STARTS_BADLY, Fault

_FAULTS: dict[str, Fault] = {
    "worn_bearings": Fault("ClassImbalance", also=("Overtraining",)),
    "pump_telemetry": Fault("ClipSaturation", also=(*DOES_NOT_LEARN, "WeightUpdateRatio")),
    # 16 epochs of 30 batches: the worker with fewer has ended, the other one waits for it.
    "uneven_shares": Fault(
        "CollectiveHang",
        step=480,
        also=("StalledTrainingRule", "Straggler", "ReplicaDivergence"),
        code=1,
    ),
    # Reads 8,000 and 14,000, at 32 a step.
    "tiles_from_a_mount": Fault(
        "DataLoaderStall",
        step=249,
        also=("StepOutlier", "Dataloader", "DataLoaderStarvation", "HotFunction"),
    ),
    "sparse_code_of_digits": Fault(
        "DeadRelu",
        step=25,
        also=(
            *DOES_NOT_LEARN,
            "VanishingGradient",
            "WeightCollapse",
            "NoGradient",
            "ClassImbalance",
        ),
    ),
    "nearest_of_its_kind": Fault(
        "ExplodingTensor",
        step=140,
        within=10,
        also=(*NOT_A_NUMBER, *DOES_NOT_LEARN, "NonFiniteInput"),
    ),
    # Weeks 38 and 39 of 20 batches each.
    "stations_in_fahrenheit": Fault(
        "LossSpike",
        step=760,
        instead=("GradientNormSpike",),
        also=("LossDiverging", "WeightUpdateRatio", "LossNotDecreasing"),
    ),
    "grains_under_the_microscope": Fault("HostMemoryLeak", also=("ThroughputDrop",)),
    "words_read_backwards": Fault("HotFunction", also=("ThroughputDrop", "StepOutlier")),
    "risk_from_a_checkup": Fault(
        "InputNotNormalized",
        also=(*STARTS_BADLY, *DOES_NOT_LEARN, "SaturatedActivation", "VanishingGradient"),
    ),
    "answers_one_row_down": Fault(
        "LabelsUnrelated", step=200, also=("Overfit", "Overtraining", "LossNotDecreasing")
    ),
    # 0.88 to the power of 91 is 1e-5 (to the power of 55 a thousandth).
    "galaxies_by_shape": Fault(
        "LearningRateCollapse",
        step=55,
        also=(*DOES_NOT_LEARN, "WeightUpdateRatio", "ParameterNotUpdated", "UnchangedTensor"),
    ),
    "sketches_of_digits": Fault(
        "LossDiverging",
        step=10,
        also=(
            *NOT_A_NUMBER,
            *DOES_NOT_LEARN,
            *(
                "WeightUpdateRatio",
                "ParameterOutlier",
                "VanishingGradient",
                "ValidationTooGood",
                "Overfit",
            ),
        ),
    ),
    "shuffled_twice": Fault(
        "LossNotDecreasing",
        also=("LabelsUnrelated", "Overtraining", "PoorWeightInitialization", "ClassImbalance"),
    ),
    "listeners_and_songs": Fault(
        "MissingZeroGrad",
        step=1,
        within=20,
        also=(
            "LossDiverging",
            "LossSpike",
            "GradientNormSpike",
            "LossNotDecreasing",
            "WeightUpdateRatio",
            "DeadRelu",
        ),
    ),
    "digits_in_ink": Fault(
        "ModeMismatch",
        step=28,  # after the first evaluation
        within=12,
        also=("Overfit", "Overtraining", "ValidationTooGood"),
    ),
    "short_codes_for_traces": Fault(
        "NoGradient",
        culprit="encoder",
        within=12,
        instead=("ParameterNotUpdated", "UnchangedTensor"),
        also=("LossNotDecreasing", "VanishingGradient"),
    ),
    "photons_by_energy": Fault(
        "NonFiniteInput",
        step=200,  # the first batch of the second campaign
        within=12,
        also=(
            *NOT_A_NUMBER,
            "ParameterOutlier",
            "WeightUpdateRatio",
            "UnchangedTensor",
            "LossNotDecreasing",
        ),
    ),
    "fields_from_above": Fault(
        "OutputIsProbability",
        within=30,
        also=DOES_NOT_LEARN,
    ),
    "words_of_a_shop": Fault(
        "ParameterNotUpdated",
        culprit="embedding",
        within=15,
        instead=("UnchangedTensor",),
        also=("NoGradient", "MissingZeroGrad", "Overtraining", "LossNotDecreasing"),
    ),
    "grains_under_a_lens": Fault(
        "ReplicaDivergence",
        step=249,  # idle prototypes are moved after this step
        also=("LossSpike", "GradientNormSpike"),
    ),
    "flats_and_rents": Fault(
        "UnshuffledData",
        also=(
            "LossSpike",
            "GradientNormSpike",
            "LossDiverging",
            "Overfit",
            "Overtraining",
            "ValidationTooGood",
            "DeadRelu",
        ),
    ),
    "leaves_of_trees": Fault(
        "ValidationTooGood",
        also=("Overfit", "Overtraining"),
    ),
    "vineyards": Fault(
        "WeightCollapse",
        also=(
            *DOES_NOT_LEARN,
            "VanishingGradient",
            "UnchangedTensor",
            "WeightUpdateRatio",
            "ClassImbalance",
            "SymmetricUnits",
        ),
    ),
    "clicks_in_a_stream": Fault(
        "ThroughputDrop",
        also=("DataLoaderStarvation", "Dataloader", "HotFunction", "StepOutlier", "HostMemoryLeak"),
    ),
    "tunes_note_by_note": Fault(
        "SlowCheckpoints",
        step=0,
        also=("StepOutlier", "HotFunction", "DiskFull", "IOBottleneck"),
    ),
    "pressures_in_a_pipe": Fault(
        "VanishingGradient",
        also=(
            *DOES_NOT_LEARN,
            "ClassImbalance",
            "UnchangedTensor",
            "ParameterNotUpdated",
            "LabelsUnrelated",
            "SymmetricUnits",
        ),
    ),
    "hours_of_sunshine": Fault(
        "WeightUpdateRatio",
        instead=("UnchangedTensor", "ParameterNotUpdated"),
        also=(*DOES_NOT_LEARN, "LearningRateCollapse"),
    ),
}

_WORKERS: dict[str, int] = {"uneven_shares": 2, "grains_under_a_lens": 2}

_HEALTHY_BUT_ODD: tuple[str, ...] = (
    "atoms_of_a_sound",
    "catch_the_ball",
    "sums_of_growing_length",
    "ring_of_blobs",
    "snapshots_of_an_ensemble",
    "spread_of_arrivals",
    "teacher_that_follows",
    "thaw_layer_by_layer",
    "careless_helpers",
    "depth_of_snow",
    "doubtful_bridges",
    "letters_in_a_row",
    "one_expert_each",
    "pictures_that_grow",
    "thin_adapters",
    "two_views_of_a_walk",
)

LABELS = Labels(faults=_FAULTS, healthy_but_odd=_HEALTHY_BUT_ODD, workers=_WORKERS)
