"""Programs that no rule author has looked at: judged once, at the end."""

from tests.faults.labels._labels import Labels
from tests.faults.program import DOES_NOT_LEARN, NOT_A_NUMBER, OVER_SIX_STEPS, STARTS_BADLY, Fault

_FAULTS: dict[str, Fault] = {
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
    # Read 3,000, at 32 a step.
    "tremors_from_an_archive": Fault("DataLoaderStall", step=93, also=("StepOutlier",)),
    "shapes_of_grids": Fault("DataLoaderStarvation", also=("Dataloader", "HotFunction")),
    "thermals_for_gliders": Fault(
        "SlowLogging", culprit="thermals_for_gliders.py", also=("HotFunction",)
    ),
    "noise_of_the_gradient": Fault("HostMemoryLeak", also=("ThroughputDrop", "StepOutlier")),
    "spectra_in_two_halves": Fault("ReplicaDivergence", within=2),
    # 10 batches a round; hooks are registered again with the second.
    "centred_gradients": Fault("ThroughputDrop", step=10, also=("HotFunction", "StepOutlier")),
    "field_of_a_magnet": Fault(
        "MissingZeroGrad",
        step=1,
        within=2,
        also=(
            "LossNotDecreasing",
            "LossDiverging",
            "LossSpike",
            "GradientNormSpike",
            "WeightUpdateRatio",
            "Overtraining",
        ),
    ),
    "gestures_of_a_hand": Fault(
        "ModeMismatch",
        step=80,  # after the first evaluation
        within=2,
        also=("Overfit", "Overtraining"),
    ),
    "stages_of_sleep": Fault(
        "OutputIsProbability", within=2, also=("LossNotDecreasing", "Overtraining")
    ),
    "calm_at_the_windmill": Fault(
        "NonFiniteInput",
        step=540,  # the batch with the calm
        within=2,
        also=(
            *NOT_A_NUMBER,
            "ParameterOutlier",
            "WeightUpdateRatio",
            "UnchangedTensor",
            "LossNotDecreasing",
        ),
    ),
    # Ten batches an epoch; the validation loss is at its best after seven or eight of 36.
    "augmented_before_the_epochs": Fault("Overfit", step=60, also=("Overtraining",)),
    # Has converged after 300 to 400 steps, and goes on for 19,200.
    "budget_counted_in_steps": Fault("Overtraining", step=300),
    # 90 batches an epoch; two thirds of the validation set are copies of rows trained on.
    "copies_made_before_the_split": Fault(
        "ValidationTooGood", step=90, also=("Overfit", "Overtraining")
    ),
    "grades_of_equal_width": Fault("ClassImbalance", also=("Overfit", "Overtraining")),
    "grain_of_planks": Fault(
        "CheckInputImages",
        instead=("InputNotNormalized",),
        also=(*STARTS_BADLY, *DOES_NOT_LEARN, "WeightUpdateRatio"),
    ),
    "inertia_of_stones": Fault(
        "PoorWeightInitialization",
        also=(*STARTS_BADLY, *DOES_NOT_LEARN, "WeightUpdateRatio"),
    ),
    "rate_for_a_limit": Fault("ClipSaturation", also=(*DOES_NOT_LEARN, "WeightUpdateRatio")),
    # From the second step on far above where it began; clipped, so it stays finite.
    "scaled_without_the_base": Fault(
        "LossDiverging",
        step=1,
        also=(
            *NOT_A_NUMBER,
            *DOES_NOT_LEARN,
            *(
                "WeightUpdateRatio",
                "ClipSaturation",
                "SaturatedActivation",
                "VanishingGradient",
                "ParameterOutlier",
                "UnchangedTensor",
                "ParameterNotUpdated",
                "Overfit",
                "ValidationTooGood",
            ),
        ),
    ),
    # More than nine in ten inputs of the sigmoid beyond 6, three in four beyond 20.
    "splits_too_sharp": Fault(
        "SaturatedActivation", also=("VanishingGradient", "Overfit", "Overtraining")
    ),
    "generations_cell_by_cell": Fault("HotFunction", step=9, also=("StepOutlier",)),
}

_WORKERS: dict[str, int] = {"spectra_in_two_halves": 2}

_HEALTHY_BUT_ODD: tuple[str, ...] = (
    "three_questions_to_a_core",
    "what_a_reader_dreams_of",
    "four_that_copy_the_best",
    "one_map_in_a_table",
    "asks_its_pilot",
    "grows_from_one_cell",
    "losers_copy_winners",
    "dreams_against_data",
    "kernel_with_depth",
    "saves_as_it_goes",
    "at_home_and_abroad",
    "forges_heartbeats",
    "smooth_copy_beside",
    "three_questions_in_turn",
    "warms_a_greenhouse",
    "water_for_dry_months",
)

LABELS = Labels(faults=_FAULTS, healthy_but_odd=_HEALTHY_BUT_ODD, workers=_WORKERS)
