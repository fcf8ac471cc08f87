"""Third set of labels: held out, judged once, used for calibration since."""

from tests.faults.labels._labels import Labels
from tests.faults.program import DOES_NOT_LEARN, NOT_A_NUMBER, OVER_SIX_STEPS, STARTS_BADLY, Fault

_FAULTS: dict[str, Fault] = {
    "warmed_by_a_wrapper": Fault(
        "MissingZeroGrad",
        step=1,  # at the first there is nothing left over yet
        within=2,
        also=(*DOES_NOT_LEARN, *STARTS_BADLY),
    ),
    "repackages_its_state": Fault(
        "NoGradient",
        culprit="encoder",
        step=OVER_SIX_STEPS,
        within=2,
        also=DOES_NOT_LEARN,
    ),
    "decays_by_name": Fault(
        "ParameterNotUpdated",
        culprit="reader",
        step=OVER_SIX_STEPS,
        within=2,
        also=(*DOES_NOT_LEARN, "MissingZeroGrad", "UnchangedTensor", "GradientNormSpike"),
    ),
    "judges_the_average": Fault("ModeMismatch", step=27, within=2),
    "three_opinions": Fault("OutputIsProbability", within=2, also=DOES_NOT_LEARN),
    "nobody_near_reports": Fault(
        "NonFiniteInput",
        step=170,
        within=2,
        also=(*NOT_A_NUMBER, *DOES_NOT_LEARN),
    ),
    "resumes_on_one": Fault("ReplicaDivergence", step=160, within=2),
    "pools_with_a_power": Fault("ExplodingTensor", also=(*NOT_A_NUMBER, *DOES_NOT_LEARN)),
    "warms_up_for_ever": Fault(
        "LossDiverging",
        step=150,
        also=(
            *NOT_A_NUMBER,
            *DOES_NOT_LEARN,
            "WeightUpdateRatio",
            "SaturatedActivation",
            "VanishingGradient",
        ),
    ),
    "the_clarinet_part": Fault("LossSpike", step=240, also=("GradientNormSpike",)),
    "time_for_batch": Fault("LossNotDecreasing", also=("Overtraining",)),
    "waits_for_the_loss_to_rise": Fault(
        "LearningRateCollapse",
        step=180,
        also=(*DOES_NOT_LEARN, "WeightUpdateRatio", "UnchangedTensor"),
    ),
    "gated_all_the_way": Fault("VanishingGradient", also=DOES_NOT_LEARN),
    "a_prior_for_everyone": Fault("DeadRelu", also=(*DOES_NOT_LEARN, "VanishingGradient")),
    "a_cell_of_ones_own": Fault(
        "SaturatedActivation",
        culprit="squash",
        also=(*DOES_NOT_LEARN, "ClipSaturation", "GradientNormSpike"),
    ),
    "widens_by_copying": Fault("SymmetricUnits", step=200),
    "puts_the_known_words_back": Fault(
        "UnchangedTensor",
        culprit="words",
        instead=("ParameterNotUpdated",),
        also=DOES_NOT_LEARN,
    ),
    "defects_on_a_belt": Fault("ClassImbalance"),
    "opens_the_archive_again": Fault(
        "DataLoaderStarvation",
        also=("Dataloader", "HotFunction"),
    ),
    "error_bars_while_it_runs": Fault("StepOutlier", step=19, also=("HotFunction",)),
    "minus_forgotten": Fault(
        "WeightUpdateRatio", instead=("LossNotDecreasing",), also=DOES_NOT_LEARN
    ),
    "recorder_froze": Fault("GradientNormSpike", step=300, also=("LossSpike", *DOES_NOT_LEARN)),
    "seconds_of_the_year": Fault(
        "InputNotNormalized", also=(*STARTS_BADLY, *DOES_NOT_LEARN, "WeightUpdateRatio")
    ),
    "lightning_by_value": Fault("ClipSaturation", step=50, also=DOES_NOT_LEARN),
    "few_beats": Fault("Overfit", step=60, also=("Overtraining",)),
    "better_by_less_than_nothing": Fault("Overtraining", step=200),
    "gain_of_the_variance": Fault("PoorWeightInitialization", also=STARTS_BADLY),
    "folds_its_scaling_in": Fault(
        "ParameterOutlier",
        culprit="sensors",
        step=330,
        also=(*NOT_A_NUMBER, "SaturatedActivation", "WeightUpdateRatio", "VanishingGradient"),
    ),
    "prior_at_every_batch": Fault("WeightCollapse", also=("VanishingGradient", *DOES_NOT_LEARN)),
    "loaders_in_a_chain": Fault(
        "UnshuffledData", also=("LossSpike", "GradientNormSpike", *DOES_NOT_LEARN)
    ),
    "folds_from_one": Fault("ValidationTooGood", step=50),
    "one_token_per_minute": Fault("NLPSequenceRatio", also=DOES_NOT_LEARN),
    "heat_in_kelvin": Fault(
        "CheckInputImages",
        instead=("InputNotNormalized",),
        also=(*STARTS_BADLY, *DOES_NOT_LEARN, "DeadRelu"),
    ),
    "barcodes_sorted_once": Fault("LabelsUnrelated", also=("Overfit",)),
    "walks_node_by_node": Fault("HotFunction", culprit="walk"),
    "quantile_of_everything": Fault("ThroughputDrop", step=100, also=("HotFunction",)),
    "never_forgets_a_frame": Fault("HostMemoryLeak"),
    "one_shard_is_packed": Fault(
        "Straggler", culprit="worker 1", also=("DataLoaderStarvation", "HotFunction")
    ),
    "optimizes_by_hand": Fault(
        "MissingZeroGrad", step=1, within=2, also=(*NOT_A_NUMBER, *DOES_NOT_LEARN)
    ),
    "groups_by_kind_of_layer": Fault(
        "ParameterNotUpdated",
        culprit="places",
        step=OVER_SIX_STEPS,
        within=2,
        also=(*DOES_NOT_LEARN, "SymmetricUnits"),
    ),
}

_WORKERS = {
    "resumes_on_one": 2,
    "teach_each_other": 2,
    "one_shard_is_packed": 2,
    "half_of_the_units_each": 2,
}

_HEALTHY_BUT_ODD = (
    "episodes_of_five",
    "hospitals_keep_their_data",
    "orthogonal_momentum",
    "settles_its_conflicts",
    "steers_by_many_tries",
    "teach_each_other",
    "two_voices_at_once",
    "weights_from_a_network",
    "writes_down_the_tones",
    "each_mends_the_last",
    "energies_and_forces",
    "expects_and_maximizes",
    "goes_home_at_noon",
    "half_of_the_units_each",
    "ranks_by_lists",
    "sorts_letters",
    "steps_of_its_own_size",
    "teaches_itself",
)

LABELS = Labels(
    faults=_FAULTS,
    healthy_but_odd=_HEALTHY_BUT_ODD,
    workers=_WORKERS,
)
