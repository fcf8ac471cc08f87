"""New samples are returned exactly once, in order, across changes of the files."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.read.new_samples import NewSampleReader
from sonde.store.backends import View
from tests.fakes.damage import flipped
from tests.fakes.job import FakeJob

ACTIONS = st.lists(
    st.sampled_from(["record", "record", "rotate", "seal", "seal all", "poll"]), max_size=30
)


def new_values(follower: NewSampleReader) -> list[float]:
    return [float(value) for news in follower.poll() for value in news.values[0]]


@given(ACTIONS)
@settings(max_examples=40)
def test_every_sample_is_returned_once_across_rotation_sealing_and_merging(
    actions: list[str],
) -> None:
    job = FakeJob()
    follower, values, recorded = job.follower(), [], 0
    for action in actions:
        if action == "record":
            job.record({"cpu": range(recorded, recorded + 3)}, ticks_per_flush=2)
            recorded += 3
        elif action == "rotate":
            job.rotate()
        elif action == "poll":
            values += new_values(follower)
        else:
            job.seal(is_over=False, merge_all=action == "seal all")

    values += new_values(follower)

    assert values == list(range(recorded))
    assert new_values(follower) == []


def test_series_that_appear_later_have_their_names() -> None:
    job = FakeJob().record({"cpu": [1]})
    follower = job.follower()
    follower.poll()
    job.record({"cpu": [2], "gpu/gpu0": [3]})

    (news,) = follower.poll()

    assert [item.key for item in news.series] == ["cpu", "gpu/gpu0"]
    assert news.values.tolist() == [[2], [3]]


def test_a_late_reader_gets_everything_from_the_start() -> None:
    job = FakeJob()
    for number in range(8):
        job.rotate().record({"cpu": [number]})
    job.seal(is_over=False)

    assert new_values(job.follower()) == list(range(8))


def test_samples_merged_during_reading_are_returned_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = FakeJob()
    for number in range(4):
        job.rotate().record({"cpu": [number]})
    job.seal()
    follower = job.follower()
    view = job.backend.view
    viewed: list[str] = []

    def view_then_merge(key: str) -> View:
        content = view(key)
        viewed.append(key)
        if len(viewed) == 2:
            job.seal(merge_all=True)
        return content

    monkeypatch.setattr(job.backend, "view", view_then_merge)

    assert new_values(follower) == [0, 1, 2, 3]
    assert new_values(follower) == []


def test_damage_is_skipped_and_later_samples_are_returned() -> None:
    job = FakeJob().record({"cpu": [0, 1]})
    job.seal()
    raw = next(key for key in job.stored(".parquet") if "rollup" not in key)
    job.backend.write(raw, flipped(job.backend.read(raw), 80))
    follower = job.follower()
    assert new_values(follower) == []

    job.rotate().record({"cpu": [2]})

    assert new_values(follower) == [2]
