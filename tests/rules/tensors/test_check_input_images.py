"""CheckInputImages: planted faults and their healthy twins."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_observations


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("CheckInputImages", **parameters)["CheckInputImages"]


def images(means: list[float], batch: int = 32, name: str = "input_0") -> FakeJob:
    detail = {"means": means, "stds": [1.0] * len(means)}
    return with_observations("input-channels", {name: lambda _: (float(batch), detail)}, 100)


def test_images_from_0_to_255_are_reported_early() -> None:
    [episode] = check(images([120.0, 115.0, 130.0])).episodes
    assert episode.finding.message.startswith("Channel 2 of input_0 has a mean of 130 over")
    assert episode.first_step is not None
    assert episode.first_step <= 5


@pytest.mark.parametrize("means", [[0.0, 0.01, -0.02], [0.47, 0.45, 0.41], [-0.4], [4.9]])
def test_common_image_ranges_are_not_reported(means: list[float]) -> None:
    result = check(images(means))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_explicit_parameters_apply() -> None:
    assert check(images([0.47]), threshold_mean=0.3).episodes
    assert check(images([120.0]), threshold_samples=10_000).episodes == ()
    assert check(images([120.0]), regex="other").episodes == ()


def test_few_images_are_enough_if_every_inspection_exceeds_the_limit() -> None:
    [episode] = check(images([120.0], batch=1)).episodes
    assert episode.finding.evidence["limit"] == 10.0


def test_single_image_beyond_the_limit_is_not_reported() -> None:
    def inspection(step: int) -> tuple[float, object]:
        return 1.0, {"means": [200.0 if step == 3 else 0.1], "stds": [1.0]}

    result = check(with_observations("input-channels", {"x": inspection}, 100))
    assert (result.status, result.episodes) == (RuleStatus.NOT_ENOUGH_DATA, ())


def test_images_between_inspections_count_toward_an_explicit_number() -> None:
    """Of 3,200 images that went into the model, a few hundred were inspected."""
    [episode] = check(images([120.0]), threshold_samples=3000).episodes
    assert float(str(episode.finding.evidence["images"])) < 1000


def test_few_images_are_not_enough_data() -> None:
    result = check(images([0.1], batch=1))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert "of 64 images" in (result.reason or "")


def test_channels_in_another_axis_are_not_supported() -> None:
    assert check(images([120.0]), channel=3).status is RuleStatus.NOT_APPLICABLE


def test_classic_setting_follows_the_documented_criterion() -> None:
    def inspection(step: int) -> tuple[float, object]:
        return 100.0, {"means": [0.0, 0.1 if step < 3 else 0.4], "stds": [1.0, 1.0]}

    job = with_observations("input-channels", {"x": inspection}, 8, at=range(8))
    result = check(job, setting="classic")
    # means of 500 to 800 images: 0.22, 0.25, …; one window of ten steps
    assert result.triggered == 1
    assert result.episodes[0].finding.evidence["means"] == pytest.approx([0.0, 0.2875])
    assert check(job, setting="classic", threshold_samples=900).triggered == 0
    assert check(job, setting="classic", threshold_mean=0.29).triggered == 0
