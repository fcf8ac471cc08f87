"""Labels of a fresh set, written without a look at the rules."""

from tests.faults.program import DOES_NOT_LEARN, NOT_A_NUMBER, OVER_SIX_STEPS, Fault

FAULTS: dict[str, Fault] = {
    # Jobs 560, 561, 563 and 564 have stiffer springs.
    "springs_and_masses": Fault(
        "LossSpike",
        step=560,
        instead=("GradientNormSpike",),
        also=("WeightUpdateRatio",),
    ),
    # Turned over after the update of step 429.
    "clans_of_whales": Fault(
        "ParameterOutlier",
        step=429,
        also=(*NOT_A_NUMBER, "WeightUpdateRatio", "SaturatedActivation", "Overfit"),
    ),
    # The evaluation gets worse between steps 50 and 300, depending on the seed.
    "levels_of_a_river": Fault(
        "LossDiverging",
        step=50,
        also=(
            *NOT_A_NUMBER,
            "Overfit",
            "WeightUpdateRatio",
            "ParameterOutlier",
            "LossNotDecreasing",
        ),
    ),
    "wells_of_a_plate": Fault(
        "LabelsUnrelated",
        step=24,  # the first evaluation
        also=("Overfit", "Overtraining", "LossNotDecreasing"),
    ),
    "where_in_the_building": Fault(
        "SlowCheckpoints",
        also=("StepOutlier", "HotFunction", "IOBottleneck", "ThroughputDrop"),
    ),
    "rings_of_otoliths": Fault(
        "ParameterNotUpdated",
        culprit="years",
        within=OVER_SIX_STEPS + 2,
        instead=("UnchangedTensor",),
    ),
    # Every other loss rises: 1e-3 of the highest rate after about 25, 1e-5 after 40 steps.
    "dishes_by_their_pairs": Fault(
        "LearningRateCollapse",
        step=10,
        also=(
            *DOES_NOT_LEARN,
            "WeightUpdateRatio",
            "ParameterNotUpdated",
            "UnchangedTensor",
        ),
    ),
    # Most units of all layers are silent within the first ten or twenty steps.
    "words_called_to_a_lift": Fault(
        "DeadRelu",
        step=1,
        also=(
            *DOES_NOT_LEARN,
            *NOT_A_NUMBER,
            "VanishingGradient",
            "WeightUpdateRatio",
            "ClassImbalance",
            "NoGradient",
            "UnchangedTensor",
            "ParameterNotUpdated",
        ),
    ),
    "families_of_asteroids": Fault(
        "VanishingGradient",
        also=(
            *DOES_NOT_LEARN,
            "UnchangedTensor",
            "ParameterNotUpdated",
            "ClassImbalance",
            "SymmetricUnits",
        ),
    ),
    "tongues_in_files": Fault(
        "UnshuffledData",
        also=(
            "LossSpike",
            "GradientNormSpike",
            "LossDiverging",
            "LossNotDecreasing",
            "ClassImbalance",
            "Overfit",
            "Overtraining",
        ),
    ),
}

HEALTHY_BUT_ODD: tuple[str, ...] = (
    "three_questions_to_a_core",
    "what_a_reader_dreams_of",
    "four_that_copy_the_best",
    "one_map_in_a_table",
    "asks_its_pilot",
)
