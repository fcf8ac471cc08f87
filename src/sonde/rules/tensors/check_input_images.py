"""CheckInputImages: images that are not centred."""

import re
from collections.abc import Iterator
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Positive, Regex
from sonde.rules._rule import Rule, State

_KIND = "input-channels"
_AXIS = 1
_SAMPLES = 64  # images have many pixels: so few suffice, where no number is set
_CLEAR = 8  # images, where every inspection shows the same
_FAR = 10.0  # bytes from 0 to 255 lie beyond it; images from 0 to 1 train well as they are


class CheckInputImages(Rule):
    """Images go into the model without being normalized.

    Why it matters: inputs far from nought make training slow or unstable.
    How it decides: by the mean of each channel over the images that were inspected, up to 64 per
    inspection, with inspections spread over the job. Classic fires where it differs from 0 by more
    than `threshold_mean`, once `threshold_samples` images went into the model. Calibrated fires
    beyond 10, after 64 inspected images, or after 8 where each inspection exceeds it: images from 0
    to 1 are not centered either, and train well. What you set holds.
    What to do: subtract each channel's mean and divide by its standard deviation (`Normalize` after
    `ToTensor`), in training and evaluation alike.
    """

    threshold_mean: Positive = 0.2
    threshold_samples: Count = 500
    regex: Regex | None = None
    channel: Count = _AXIS

    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 10

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Adds up the images of a window."""
        if self.channel != _AXIS:
            return
        seen = {}
        for one in window.observations(_KIND):
            if self.regex is None or re.search(self.regex, one.subject):
                known = state.of("inputs", one.subject)
                means = [one.value * float(mean) for mean in one.facts["means"]]
                sums = known.get("sums") or [0.0] * len(means)
                if len(sums) != len(means):
                    continue
                known["sums"] = [total + mean for total, mean in zip(sums, means, strict=True)]
                known.setdefault("since", one.step)
                known["images"] = known.get("images", 0) + round(one.value)
                passed = round(one.value) * (one.step - known["since"] + 1)
                known["passed"] = max(known.get("passed", 0), known["images"], passed)
                lowest = max(abs(float(mean)) for mean in one.facts["means"])
                known["lowest"] = min(known.get("lowest", lowest), lowest)
                seen[one.subject] = one.step
        for name, step in seen.items():
            yield from self._judged(name, step, state.of("inputs", name))

    def unfit(self, state: State) -> str:
        """Images whose channels come last."""
        del state
        return "" if self.channel == _AXIS else f"channels are looked for in axis {_AXIS} only"

    def lacks(self, state: State) -> str | Shortfall:
        """How many images are missing."""
        seen = [(self._seen(one), one) for one in state.of("inputs").values()]
        if any(images >= self._needed(one) for images, one in seen):
            return ""
        images = max((images for images, _ in seen), default=0)
        return Shortfall(images, self._needed(State()), DataUnit.IMAGES)

    @property
    def _is_counted(self) -> bool:
        """Whether all images count that went into the model, as the criterion says."""
        return self.is_classic or "threshold_samples" in self.given

    @property
    def _limit(self) -> float:
        is_set = self.is_classic or "threshold_mean" in self.given
        return self.threshold_mean if is_set else _FAR

    def _seen(self, known: State) -> int:
        return int(known["passed"] if self._is_counted else known["images"])

    def _needed(self, known: State) -> int:
        if self._is_counted:
            return self.threshold_samples
        return _CLEAR if known.get("lowest", 0.0) > self._limit else _SAMPLES

    def _judged(self, name: str, step: int, known: State) -> Iterator[Finding]:
        images, limit = int(known["images"]), self._limit
        if self._seen(known) < self._needed(known):
            return
        means = [total / images for total in known["sums"]]
        worst = max(range(len(means)), key=lambda place: abs(means[place]))
        if abs(means[worst]) > limit:
            yield self.finding(
                f"Channel {worst} of {name} has the mean {means[worst]:.3g} over {images} images.",
                step=(int(known["since"]), step),
                tensor=name,
                evidence={"means": means, "limit": limit, "images": images},
            )
