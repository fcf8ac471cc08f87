"""CheckInputImages: images enter the model without normalization."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations
from sonde.records.observations.batches import ImageChannels
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Positive, Regex
from sonde.rules._rule import Rule, Section, State

_KIND = "input-channels"
_CHANNEL_AXIS = 1


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of CheckInputImages.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_images: int = 64  # enough, because each image has many pixels
    min_clear_images: int = 8  # enough if every inspection exceeds the limit
    max_mean: float = 10.0  # bytes from 0 to 255 exceed it; images from 0 to 1 train well


LIMITS = Calibration()


class CheckInputImages(Rule):
    """Images enter the model without normalization.

    Why it matters: Inputs far from zero make training slow or unstable.
    How it decides:
    - The mean of a channel over the inspected images (up to 64 per inspection) is farther than 10
      from 0, or than `threshold_mean` if you set it.
    - Needs 64 inspected images, or 8 if every inspection is beyond the limit. If you set
      `threshold_samples`: that many images.
    - Images between 0 and 1 do not fire: they are not centered, but train well.
    - Classic: farther than `threshold_mean` from 0 after `threshold_samples` images.
    What to do: Subtract each channel's mean and divide by its standard deviation (`Normalize` after
    `ToTensor`), in training and evaluation.
    """

    threshold_mean: Positive = 0.2
    threshold_samples: Count = 500
    regex: Regex | None = None
    channel: Count = _CHANNEL_AXIS

    section = Section.DATA
    calibration = LIMITS
    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 10

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Add up the channel means of a window and compare them with the limit."""
        if self.channel != _CHANNEL_AXIS:
            return
        last_steps = {}
        for observation in window.observations(_KIND):
            if self.regex is None or re.search(self.regex, observation.subject):
                channels = ImageChannels.of(observation)
                if not channels.means:
                    continue  # damaged
                input_state = state.of("inputs", observation.subject)
                means = [observation.value * mean for mean in channels.means]
                sums = input_state.get("sums") or [0.0] * len(means)
                if len(sums) != len(means):
                    continue
                input_state["sums"] = [
                    total + mean for total, mean in zip(sums, means, strict=True)
                ]
                input_state.setdefault("since", observation.step)
                input_state["images"] = input_state.get("images", 0) + round(observation.value)
                passed = round(observation.value) * (observation.step - input_state["since"] + 1)
                input_state["passed"] = max(
                    input_state.get("passed", 0), input_state["images"], passed
                )
                largest = max(map(abs, channels.means))
                input_state["lowest"] = min(input_state.get("lowest", largest), largest)
                last_steps[observation.subject] = observation.step
        for name, step in last_steps.items():
            yield from self._evaluate(name, step, state.of("inputs", name))

    def unfit(self, state: State) -> str:
        """Return a reason if the channels are in another axis."""
        del state
        return (
            ""
            if self.channel == _CHANNEL_AXIS
            else f"only channels in axis {_CHANNEL_AXIS} are supported"
        )

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many images are missing."""
        inputs = list(state.of("inputs").values())
        if any(self._image_count(item) >= self._min_images(item) for item in inputs):
            return ""
        images = max(map(self._image_count, inputs), default=0)
        return Shortfall(images, self._min_images(State()), DataUnit.IMAGES)

    @property
    def _counts_all_images(self) -> bool:
        """Whether all images that enter the model count, not only the inspected ones."""
        return self.is_classic or "threshold_samples" in self.explicit_parameters

    @property
    def _limit(self) -> float:
        is_set = self.is_classic or "threshold_mean" in self.explicit_parameters
        return self.threshold_mean if is_set else LIMITS.max_mean

    def _image_count(self, state: State) -> int:
        return int(state["passed"] if self._counts_all_images else state["images"])

    def _min_images(self, state: State) -> int:
        if self._counts_all_images:
            return self.threshold_samples
        return (
            LIMITS.min_clear_images if state.get("lowest", 0.0) > self._limit else LIMITS.min_images
        )

    def _evaluate(self, name: str, step: int, state: State) -> Iterator[Finding]:
        images, limit = int(state["images"]), self._limit
        if self._image_count(state) < self._min_images(state):
            return
        means = [total / images for total in state["sums"]]
        worst = max(range(len(means)), key=lambda index: abs(means[index]))
        if abs(means[worst]) > limit:
            yield self.finding(
                f"Channel {worst} of {name} has a mean of {means[worst]:.3g} over {images} images.",
                step=(int(state["since"]), step),
                tensor=name,
                evidence={"means": means, "limit": limit, "images": images},
            )
