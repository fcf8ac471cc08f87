"""Kinds of tensors, built-in collections, and reductions."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class TensorKind(StrEnum):
    """The role of a tensor in training; a tensor may have several roles."""

    LOSS = "loss"
    METRIC = "metric"
    WEIGHT = "weight"  # every parameter except biases
    BIAS = "bias"
    GRADIENT = "gradient"
    OPTIMIZER_STATE = "optimizer_state"
    INPUT = "input"  # inputs of the model
    OUTPUT = "output"  # outputs of the model
    LAYER_INPUT = "layer_input"  # inputs of its modules
    LAYER_OUTPUT = "layer_output"
    ACTIVATION = "activation"  # outputs of activation functions
    RELU_OUTPUT = "relu_output"
    RELU_INPUT = "relu_input"
    TANH_INPUT = "tanh_input"
    SIGMOID_INPUT = "sigmoid_input"
    LABEL = "label"
    PREDICTION = "prediction"
    HYPERPARAMETER = "hyperparameter"  # this and the following: of boosted trees
    FEATURE_IMPORTANCE = "feature_importance"
    AVERAGE_SHAP = "average_shap"  # mean contribution of each feature to the predictions
    FULL_SHAP = "full_shap"  # contribution of each feature to each prediction
    TREE = "tree"
    SAVED = "saved"  # passed to `sonde.save`


class Reduction(StrEnum):
    """A statistic that summarizes a tensor."""

    MIN = "min"
    MAX = "max"
    MEAN = "mean"
    STD = "std"
    VARIANCE = "variance"
    SUM = "sum"
    PROD = "prod"
    MEDIAN = "median"
    L1_NORM = "l1_norm"
    L2_NORM = "l2_norm"
    ABS_MIN = "abs_min"
    ABS_MAX = "abs_max"
    ABS_MEAN = "abs_mean"
    ABS_STD = "abs_std"
    ABS_VARIANCE = "abs_variance"
    ABS_SUM = "abs_sum"
    NAN_COUNT = "nan_count"
    INF_COUNT = "inf_count"
    ZERO_FRACTION = "zero_fraction"
    QUANTILES = "quantiles"


# All other reductions are computed from the mergeable statistics.
FROM_THE_HISTOGRAM = frozenset((Reduction.MEDIAN, Reduction.QUANTILES))
COMPUTED_APART = frozenset((Reduction.PROD,))

ALL_KINDS = frozenset(TensorKind)

# collections whose tensors exist at every optimizer step
AT_EVERY_STEP = ("weights", "biases", "gradients", "optimizer_state")

BUILT_IN_COLLECTIONS: Mapping[str, frozenset[TensorKind]] = MappingProxyType(
    {
        "losses": frozenset((TensorKind.LOSS,)),
        "metrics": frozenset((TensorKind.METRIC,)),
        "weights": frozenset((TensorKind.WEIGHT,)),
        "biases": frozenset((TensorKind.BIAS,)),
        "gradients": frozenset((TensorKind.GRADIENT,)),
        "optimizer_state": frozenset((TensorKind.OPTIMIZER_STATE,)),
        "inputs": frozenset((TensorKind.INPUT,)),
        "outputs": frozenset((TensorKind.OUTPUT,)),
        "activations": frozenset((TensorKind.ACTIVATION,)),
        "relu_output": frozenset((TensorKind.RELU_OUTPUT,)),
        "relu_input": frozenset((TensorKind.RELU_INPUT,)),
        "tanh_input": frozenset((TensorKind.TANH_INPUT,)),
        "sigmoid_input": frozenset((TensorKind.SIGMOID_INPUT,)),
        "labels": frozenset((TensorKind.LABEL,)),
        "predictions": frozenset((TensorKind.PREDICTION,)),
        "hyperparameters": frozenset((TensorKind.HYPERPARAMETER,)),
        "feature_importance": frozenset((TensorKind.FEATURE_IMPORTANCE,)),
        "average_shap": frozenset((TensorKind.AVERAGE_SHAP,)),
        "full_shap": frozenset((TensorKind.FULL_SHAP,)),
        "trees": frozenset((TensorKind.TREE,)),
        "all": ALL_KINDS,
        "default": frozenset((TensorKind.LOSS, TensorKind.METRIC)),
    }
)
