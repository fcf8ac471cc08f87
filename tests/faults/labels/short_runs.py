"""Faults that show in runs of seconds to minutes, and healthy runs that look like them."""

from tests.faults.labels._labels import Labels
from tests.faults.program import DOES_NOT_LEARN, NOT_A_NUMBER, Fault, Parameters

_FAULTS: dict[str, Fault] = {
    "loss_jumps_for_five_batches": Fault("LossSpike", step=298, also=("GradientNormSpike",)),
    "exponent_bit_of_a_weight_flips": Fault(
        "ParameterOutlier",
        culprit="think",
        step=317,
        also=(*NOT_A_NUMBER, *DOES_NOT_LEARN, "WeightUpdateRatio", "VanishingGradient"),
    ),
    "sign_of_the_loss_is_wrong": Fault(
        "LossDiverging", also=("Overfit", "Overtraining", *DOES_NOT_LEARN, "GradientNormSpike")
    ),
    "saves_a_checkpoint_every_few_steps": Fault("SlowCheckpoints", also=("StepOutlier",)),
    "worker_hangs_for_ten_seconds": Fault(
        "StepOutlier", culprit="worker 1", step=400, also=("CollectiveHang", "Straggler")
    ),
    "stands_still_for_fifteen_seconds": Fault("StalledTrainingRule", also=("StepOutlier",)),
    "trains_the_module_inside_the_wrapper": Fault("ReplicaDivergence"),
    "prints_the_batch_at_every_step": Fault(
        "SlowLogging", culprit="prints_the_batch_at_every_step.py", also=("HotFunction",)
    ),
    "keeps_every_graph": Fault("HostMemoryLeak"),
    "neighbors_take_the_cores": Fault("CPUContention", also=("CPUBottleneck",)),
    "thermal_images_in_counts": Fault(
        "CheckInputImages", instead=("InputNotNormalized",), also=DOES_NOT_LEARN
    ),
}

_WORKERS = {
    "worker_hangs_for_ten_seconds": 2,
    "trains_the_module_inside_the_wrapper": 2,
}

_PARAMETERS: dict[str, Parameters] = {
    "stands_still_for_fifteen_seconds": {"StalledTrainingRule": {"threshold": 4.0}},
}

_NEIGHBORS = {"neighbors_take_the_cores": 3}

_HEALTHY_BUT_ODD = (
    "policy_with_rollouts",
    "clips_its_policy",
    "learns_from_a_replay_buffer",
    "reaches_with_two_critics",
)

LABELS = Labels(
    faults=_FAULTS,
    healthy_but_odd=_HEALTHY_BUT_ODD,
    workers=_WORKERS,
    parameters=_PARAMETERS,
    neighbors=_NEIGHBORS,
)
