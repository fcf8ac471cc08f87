"""Tags, group and note of a job."""

import pytest

from sonde.errors import UsageError
from sonde.records.job_summary import Annotations
from sonde.store import layout
from sonde.store.annotations import read_annotations, with_tags, write_annotations
from tests.fakes.job import FakeJob


def test_annotations_are_stored_with_secrets_masked_and_tags_once() -> None:
    backend = FakeJob().backend
    assert read_annotations(backend) == Annotations()
    write_annotations(backend, Annotations(("a", "b", "a"), "sweep", "password=hunter2"))
    stored = read_annotations(backend)
    assert (stored.tags, stored.group) == (("a", "b"), "sweep")
    assert "hunter2" not in stored.note
    assert with_tags(stored, ["c"], ["a"]).tags == ("b", "c")


def test_damaged_annotations_count_as_empty_and_are_reported() -> None:
    backend = FakeJob().backend
    backend.write(layout.ANNOTATIONS, b"{}")
    assert read_annotations(backend) == Annotations()
    assert backend.ledger.texts


@pytest.mark.parametrize("tag", ["", "two words", "a,b", "x" * 65, "a\x1bb", '"quoted"'])
def test_a_tag_is_one_short_word(tag: str) -> None:
    with pytest.raises(UsageError, match="Invalid tag"):
        write_annotations(FakeJob().backend, Annotations((tag,)))


def test_the_number_of_tags_and_the_length_of_a_note_are_limited() -> None:
    backend = FakeJob().backend
    with pytest.raises(UsageError, match="up to 32 tags"):
        write_annotations(backend, Annotations(tuple(map(str, range(33)))))
    with pytest.raises(UsageError, match="note has 5,000 characters"):
        write_annotations(backend, Annotations(note="x" * 5000))
