"""Programs of a fresh set, written from what the rules promise and not from how they decide."""

from tests.faults.program import NOT_A_NUMBER, Fault

FAULTS: dict[str, Fault] = {
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
}

WORKERS: dict[str, int] = {"spectra_in_two_halves": 2}

HEALTHY_BUT_ODD: tuple[str, ...] = (
    "grows_from_one_cell",
    "losers_copy_winners",
    "dreams_against_data",
    "kernel_with_depth",
    "saves_as_it_goes",
)
