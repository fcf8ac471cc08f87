"""Layout of a job's folder: valid names and the order of segments."""

import pytest

from sonde.errors import UsageError
from sonde.store.layout import SegmentName, attempt_key, check_name, reply_key


@pytest.mark.parametrize("name", ["resnet", "a.b-c_D", "0", "x" * 128])
def test_a_valid_name_is_returned_unchanged(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "ä", "x" * 129, "a\n"])
def test_a_name_that_is_not_a_valid_folder_everywhere_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="Invalid node name"):
        check_name(name, "node")


def test_segments_are_sorted_by_their_start_time() -> None:
    early, late = SegmentName(99, "ffff"), SegmentName(1_700_000_000_000_000_000, "0000")

    assert str(early) < str(late)
    assert SegmentName.parse(str(late)) == late


@pytest.mark.parametrize("text", ["", "job", "123-abcd", "0000000000000000000x-a", "0" * 20])
def test_other_files_are_not_segments(text: str) -> None:
    assert SegmentName.parse(text) is None


def test_documents_are_stored_under_the_specified_keys() -> None:
    assert attempt_key("a", 2, "start") == "nodes/a/attempt-002/start.json"
    assert reply_key("7", "a") == "control/replies/7.a.json"
