"""Programs of a fresh set, with what is wrong in them."""

from tests.faults.program import DOES_NOT_LEARN, NOT_A_NUMBER, STARTS_BADLY, Fault

FAULTS: dict[str, Fault] = {
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

HEALTHY_BUT_ODD: tuple[str, ...] = (
    "at_home_and_abroad",
    "forges_heartbeats",
    "smooth_copy_beside",
    "three_questions_in_turn",
    "warms_a_greenhouse",
    "water_for_dry_months",
)
