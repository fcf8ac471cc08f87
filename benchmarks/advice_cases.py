"""Planted inefficiencies of training programs on a GPU, with the advice that each should get."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

Values = Mapping[str, object]  # settings of `benchmarks.advised_gpu_training`


@dataclass(frozen=True)
class Case:
    """A program with an inefficiency; a tuned program if no rule is expected."""

    name: str
    model: str
    slow: Values = field(default_factory=dict)
    remedied: Values = field(default_factory=dict)  # what the remedy changes
    rules: tuple[str, ...] = ()  # the rule of the first advice is one of them
    title: str = ""  # of the remedy: a regular expression
    setting: str = ""  # that the number in the title of the remedy sets
    is_factor: bool = False  # whether the number multiplies the setting

    @property
    def is_tuned(self) -> bool:
        """Whether nothing is planted."""
        return not self.rules

    def with_remedy(self, title: str) -> Values:
        """The settings that the title of a remedy advises."""
        settings = {**self.slow, **self.remedied}
        number = re.search(r"(?<!/)(?:1/)?([0-9][0-9,]*)", title)
        if self.setting and number:
            value, now = int(number[1].replace(",", "")), self.slow.get(self.setting)
            is_factor = self.is_factor and isinstance(now, int)
            settings[self.setting] = value * now if is_factor and isinstance(now, int) else value
        return settings


_WORKERS = {"data": "loader", "item_ms": 1.0, "batch": 64}
_SMALL = {"batch": 8}

CASES = (
    Case("gpt tuned", "gpt"),
    Case("convolutional tuned", "convolutional", {"data": "memory"}),
    Case("perceptron tuned", "perceptron"),
    Case("lstm tuned", "lstm"),
    Case("unet tuned", "unet"),
    Case(
        "gpt separate attention",
        "gpt",
        {"attention": "separate"},
        {"attention": "fused"},
        ("EagerAttention",),
        "scaled_dot_product",
    ),
    Case(
        "gpt float32",
        "gpt",
        {"precision": "float32"},
        {"precision": "bfloat16"},
        ("UnusedTensorCores",),
        "bfloat16",
    ),
    Case(
        "gpt TF32",
        "gpt",
        {"precision": "tf32"},
        {"precision": "bfloat16"},
        ("UnusedTensorCores",),
        "bfloat16",
    ),
    Case(
        "gpt odd vocabulary",
        "gpt",
        {"odd_size": True},
        {"odd_size": False},
        ("OddDimensions",),
        "multiples of 8",
    ),
    Case(
        "gpt small batch",
        "short_gpt",
        _SMALL,
        {"batch": 32},
        ("LaunchBound",),
        "batch",
        setting="batch",
        is_factor=True,
    ),
    Case(
        "gpt eager",
        "short_gpt",
        _SMALL,
        {"compiled": "default"},
        ("LaunchBound",),
        r"torch\.compile$",
    ),
    Case(
        "gpt reads a value per layer",
        "gpt",
        {"batch": 2, "read_every": 1, "reads": 24},
        {"read_every": 50},
        ("HostSynchronization",),
        "reading values",
    ),
    Case(
        "gpt loss by mask",
        "short_gpt",
        {"batch": 64, "masked": True, "read_every": 1},
        {"masked": False, "read_every": 50},
        ("HostSynchronization",),
        "reading values",
    ),
    Case(
        "convolutional float32",
        "convolutional",
        {"precision": "float32"},
        {"precision": "tf32"},
        ("UnusedTensorCores",),
        "TF32",
    ),
    Case(
        "convolutional pageable copies",
        "convolutional",
        {"data": "memory", "batch": 1024, "pinned": False},
        {"pinned": True},
        ("PageableCopies",),
        "pinned",
    ),
    Case(
        "convolutional checkpoints",
        "convolutional",
        {"checkpoint_every": 5, "data": "memory"},
        {"checkpoint_every": 50},
        ("SlowCheckpoints",),
        "as often",
        setting="checkpoint_every",
        is_factor=True,
    ),
    Case(
        "gpt checkpoints",
        "gpt",
        {"checkpoint_every": 10},
        {"checkpoint_every": 100},
        ("SlowCheckpoints",),
        "as often",
        setting="checkpoint_every",
        is_factor=True,
    ),
    Case(
        "unet evaluation",
        "unet",
        {"evaluate_every": 10},
        {"evaluate_every": 100},
        ("FrequentEvaluation",),
        "evaluating every",
        setting="evaluate_every",
    ),
    Case(
        "unet TF32",
        "unet",
        {"precision": "tf32"},
        {"precision": "bfloat16"},
        ("UnusedTensorCores",),
        "bfloat16",
    ),
    Case(
        "perceptron without workers",
        "perceptron",
        {**_WORKERS, "workers": 0},
        {"workers": 8},
        ("DataLoaderStarvation",),
        "num_workers",
        setting="workers",
    ),
    Case(
        "perceptron two workers",
        "perceptron",
        {**_WORKERS, "item_ms": 0.5, "workers": 2},
        {"workers": 8},
        ("DataLoaderStarvation",),
        "num_workers",
        setting="workers",
    ),
    Case(
        "perceptron eager",
        "deep_perceptron",
        {},
        {"compiled": "reduce-overhead"},
        ("LaunchBound",),
        "CUDA graphs",
    ),
    Case(
        "perceptron small batch",
        "deep_perceptron",
        {"batch": 128},
        {"batch": 512},
        ("LaunchBound",),
        "batch",
        setting="batch",
        is_factor=True,
    ),
    Case(
        "perceptron updates in a loop",
        "deep_perceptron",
        {"optimizer": "loop"},
        {"optimizer": "fused"},
        ("UnfusedOptimizer", "LaunchBound"),
        "fused",
    ),
    Case(
        "lstm output at every step",
        "lstm",
        {"print_every": 1, "batch": 32},
        {"print_every": 10},
        ("SlowLogging",),
        "output at every",
        setting="print_every",
    ),
    Case(
        "lstm float64",
        "lstm",
        {"precision": "float64", "batch": 32},
        {"precision": "float32"},
        ("DoublePrecision",),
        "float32",
    ),
)
