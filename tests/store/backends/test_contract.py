"""The contract of all storage backends."""

import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sonde.errors import KeyMissingError
from sonde.store.backends import Backend, open_backend

GROWING = "job/nodes/a/system/1.frames"


def keys(backend: Backend, folder: str = "") -> list[str]:
    return [entry.key for entry in backend.entries(folder)]


def test_written_content_is_read_back(backend: Backend) -> None:
    backend.write("job/job.json", b"hello")

    assert backend.read("job/job.json") == b"hello"


def test_writing_again_replaces_the_complete_content(backend: Backend) -> None:
    backend.write("job/job.json", b"a long first version")
    backend.write("job/job.json", b"short")
    assert backend.read("job/job.json") == b"short"


def test_another_backend_for_the_same_uri_sees_the_same_keys(backend: Backend) -> None:
    backend.write("job/job.json", b"hello")
    backend.append(GROWING, 0, b"frames")

    second = open_backend(backend.uri)

    assert second.read("job/job.json") == b"hello"
    assert second.read(GROWING) == b"frames"


@pytest.mark.parametrize("key", ["job/a.json", "job/b.frames"])
@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, None, b"0123456789"),
        (3, None, b"3456789"),
        (3, 5, b"34"),
        (0, 4, b"0123"),
        (8, 100, b"89"),
        (10, None, b""),
        (10, 12, b""),
        (50, None, b""),
        (4, 4, b""),
        (6, 2, b""),
    ],
)
def test_a_range_of_a_key_can_be_read(
    backend: Backend, key: str, start: int, end: int | None, expected: bytes
) -> None:
    backend.write(key, b"0123456789")

    assert backend.read(key, start, end) == expected


@pytest.mark.parametrize("key", ["job/a.json", "job/b.frames"])
def test_an_empty_key_exists_and_has_no_content(backend: Backend, key: str) -> None:
    backend.write(key, b"")

    assert backend.exists(key)
    assert backend.read(key) == b""
    assert backend.read(key, 0, 10) == b""
    assert [entry.size for entry in backend.entries("job")] == [0]


@pytest.mark.parametrize("key", ["job/a.json", "job/b.frames"])
@pytest.mark.parametrize("extent", [(0, None), (3, 5), (5, 5)])
def test_reading_a_missing_key_is_an_error(
    backend: Backend, key: str, extent: tuple[int, int | None]
) -> None:
    with pytest.raises(KeyMissingError, match=key):
        backend.read(key, *extent)
    assert not backend.exists(key)


@pytest.mark.parametrize("data", [b"", b"0123456789"])
def test_a_view_reads_any_range_of_a_key(backend: Backend, data: bytes) -> None:
    backend.write("job/a.parquet", data)

    view = backend.view("job/a.parquet")
    assert view.size == len(data)
    assert view.read(0, view.size) == data
    assert view.read(2, 5) == data[2:5]
    for missing in ("job/b.parquet", "job", "job/a.parquet/below"):
        with pytest.raises(KeyMissingError):
            backend.view(missing)


@pytest.mark.parametrize("key", ["job/lease.json", "job/b.frames"])
def test_only_the_first_writer_creates_a_key(backend: Backend, key: str) -> None:
    assert backend.create(key, b"first")
    assert not backend.create(key, b"second")
    assert backend.read(key) == b"first"


def test_a_deleted_key_can_be_created_again(backend: Backend) -> None:
    backend.create("job/lease.json", b"first")
    backend.delete(["job/lease.json"])

    assert backend.create("job/lease.json", b"second")


def test_appended_chunks_are_read_in_order(backend: Backend) -> None:
    backend.append(GROWING, 0, b"one,")
    backend.append(GROWING, 4, b"two,")
    backend.append(GROWING, 8, b"three")

    assert backend.read(GROWING) == b"one,two,three"
    assert backend.read(GROWING, 2, 9) == b"e,two,t"
    assert [(entry.key, entry.size) for entry in backend.entries("")] == [(GROWING, 13)]


def test_a_repeated_append_has_no_effect(backend: Backend) -> None:
    backend.append(GROWING, 0, b"one,")
    backend.append(GROWING, 4, b"two,")
    backend.append(GROWING, 4, b"two,")
    backend.append(GROWING, 0, b"one,")

    assert backend.read(GROWING) == b"one,two,"


def test_a_repeated_empty_append_has_no_effect(backend: Backend) -> None:
    for _ in range(2):
        backend.append(GROWING, 0, b"")
        backend.append(GROWING, 0, b"one,")
        backend.append(GROWING, 4, b"")
        backend.append(GROWING, 4, b"two,")

    assert backend.read(GROWING) == b"one,two,"


def test_an_append_to_a_deleted_key_is_an_error_and_the_key_can_be_started_again(
    backend: Backend,
) -> None:
    backend.append(GROWING, 0, b"one,")
    backend.delete([GROWING])

    with pytest.raises(KeyMissingError, match=GROWING):
        backend.append(GROWING, 4, b"two,")
    backend.append(GROWING, 0, b"again")

    assert backend.read(GROWING) == b"again"


def test_a_writer_at_an_offset_of_a_missing_key_gets_an_error(backend: Backend) -> None:
    with pytest.raises(KeyMissingError, match=GROWING):
        open_backend(backend.uri).append(GROWING, 4, b"two,")


def test_another_backend_can_continue_appending(backend: Backend) -> None:
    backend.append(GROWING, 0, b"one,")
    open_backend(backend.uri).append(GROWING, 4, b"two,")

    assert backend.read(GROWING) == b"one,two,"


def test_entries_are_sorted_and_include_subfolders(backend: Backend) -> None:
    written = ["job/z.json", "job/nodes/a/1.json", "job/a.json", "job/nodes/b/1.json"]
    for key in written:
        backend.write(key, b"1")
    backend.append(GROWING, 0, b"1")

    assert keys(backend) == sorted([*written, GROWING])
    assert keys(backend, "job/nodes/a") == ["job/nodes/a/1.json", GROWING]
    assert keys(backend, "nowhere") == []


def test_entries_have_a_size_and_a_recent_modification_time(backend: Backend) -> None:
    backend.write("job/old.json", b"12345")
    backend.write("job/new.json", b"")

    new, old = backend.entries("job")

    assert (new.size, old.size) == (0, 5)
    assert 0 <= new.modified_ns - old.modified_ns + 1_000_000_000 < 60_000_000_000


def test_a_folder_does_not_include_keys_that_share_only_its_prefix(backend: Backend) -> None:
    for key in ("job/a", "job-2/a", "job.json", "jo/a", "job/nodes/a", "job/nodes-2/a"):
        backend.write(key, b"1")

    assert keys(backend, "job") == ["job/a", "job/nodes-2/a", "job/nodes/a"]
    assert keys(backend, "job/nodes") == ["job/nodes/a"]
    assert backend.folders("job") == ["nodes", "nodes-2"]


def test_a_growing_key_is_not_confused_with_keys_that_share_its_prefix(backend: Backend) -> None:
    backend.append("job/1.frames", 0, b"one")
    backend.append("job/1.frames.frames", 0, b"other")
    backend.write("job/1.json", b"{}")

    backend.delete(["job/1.frames"])

    assert keys(backend) == ["job/1.frames.frames", "job/1.json"]
    assert backend.read("job/1.frames.frames") == b"other"


def test_keys_and_folders_are_distinct(backend: Backend) -> None:
    backend.write("job/job.json", b"1")
    backend.append(GROWING, 0, b"1")

    assert keys(backend, "job/job.json") == []
    assert keys(backend, GROWING) == []
    assert backend.folders("job/nodes/a/system") == []
    assert backend.folders(GROWING) == []
    assert not backend.exists("job")
    with pytest.raises(KeyMissingError):
        backend.read("job/nodes")
    backend.delete(["job/nodes", "job/job.json/below"])
    assert keys(backend) == ["job/job.json", GROWING]


def test_folders_are_listed_one_level_deep_in_order(backend: Backend) -> None:
    for key in ("b/job.json", "a/nodes/x/1.json", "c.frames/job.json", "top.json"):
        backend.write(key, b"1")
    backend.append("a/live.frames", 0, b"1")

    assert backend.folders("") == ["a", "b", "c.frames"]
    assert backend.folders("a") == ["nodes"]
    assert backend.folders("b") == []
    assert backend.folders("nowhere") == []


def test_a_folder_disappears_with_its_last_key(backend: Backend) -> None:
    backend.write("job/job.json", b"1")
    backend.append(GROWING, 0, b"1")

    backend.delete(keys(backend, "job"))

    assert keys(backend) == []
    assert backend.folders("") == []


def test_deleting_a_growing_key_removes_all_of_it_and_nothing_else(backend: Backend) -> None:
    for offset in range(5):
        backend.append(GROWING, offset, b"x")
    backend.write("job/job.json", b"1")

    backend.delete([GROWING, "job/never-written.json", "job/never.frames"])

    assert keys(backend) == ["job/job.json"]
    with pytest.raises(KeyMissingError):
        backend.read(GROWING)


def test_deleting_no_keys_is_allowed(backend: Backend) -> None:
    backend.write("job/job.json", b"1")
    backend.delete([])
    backend.delete(iter(["job/nothing.json"]))
    assert keys(backend) == ["job/job.json"]


def test_names_may_have_spaces_and_non_latin_letters(backend: Backend) -> None:
    odd = ["job/a b%20c.json", "job/größe+1.json", "job/学/1.frames"]
    backend.write(odd[0], b"0")
    backend.write(odd[1], b"1")
    backend.append(odd[2], 0, b"2")

    assert keys(backend, "job") == odd
    assert [backend.read(key) for key in odd] == [b"0", b"1", b"2"]
    assert backend.folders("job") == ["学"]


def test_large_keys_are_stored_completely(backend: Backend) -> None:
    data = bytes(range(256)) * 4096 * 11

    backend.write("job/values.safetensors", data)

    assert backend.read("job/values.safetensors") == data
    assert backend.read("job/values.safetensors", 6_000_000, 6_000_010) == data[6_000_000:6_000_010]


@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    pieces=st.lists(st.binary(max_size=12), min_size=1, max_size=6),
    repeats=st.lists(st.integers(0, 5), max_size=2),
    start=st.integers(0, 30),
    length=st.none() | st.integers(0, 30),
)
def test_any_split_into_appends_reads_the_same_for_any_range(
    backend: Backend, pieces: list[bytes], repeats: list[int], start: int, length: int | None
) -> None:
    key = f"{uuid.uuid4().hex}/1.frames"
    complete = b"".join(pieces)
    offsets = [len(b"".join(pieces[:number])) for number in range(len(pieces))]
    for offset, piece in zip(offsets, pieces, strict=True):
        backend.append(key, offset, piece)
    for number in repeats:
        backend.append(key, offsets[number % len(pieces)], pieces[number % len(pieces)])
    end = None if length is None else start + length

    assert backend.read(key) == complete
    assert backend.read(key, start, end) == complete[start:end]
    assert sum(entry.size for entry in backend.entries(key.partition("/")[0])) == len(complete)


def test_erasing_a_store_removes_all_of_it_and_nothing_next_to_it(backend: Backend) -> None:
    job = open_backend(f"{backend.uri}/job-1")
    neighbour = open_backend(f"{backend.uri}/job-10")
    for index in (job, neighbour):
        index.write("job.json", b"1")
        index.append("nodes/a/system/1.frames", 0, b"12")
        index.append("nodes/a/system/1.frames", 2, b"34")

    job.erase()

    assert job.entries("") == []
    assert len(neighbour.entries("")) == 2
    assert backend.folders("") in (["job-10"], [])  # stores in memory share nothing


def test_sweeping_removes_no_key(backend: Backend) -> None:
    backend.write("job/job.json", b"1")
    backend.append("job/1.frames", 0, b"12")

    backend.sweep(2**62)

    assert [entry.key for entry in backend.entries("")] == ["job/1.frames", "job/job.json"]
