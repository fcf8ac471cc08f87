"""The S3 backend: chunks, pages of listings, options and error messages."""

import subprocess
import sys

import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from obstore.store import S3Store

from sonde.errors import DamagedError, KeyMissingError, StoreError, UsageError
from sonde.store.backends import Backend, open_backend

IMPORT_WITHOUT_OBSTORE = """
import sys
sys.modules["obstore"] = None
from sonde.errors import MissingExtraError
from sonde.store.backends import open_backend
try:
    open_backend("s3://bucket/prefix")
except MissingExtraError as error:
    print(error)
"""


@pytest.fixture
def s3(s3_uri: str) -> Backend:
    return open_backend(s3_uri)


def objects(uri: str) -> dict[str, int]:
    """Return the objects in the bucket under the prefix of a store."""
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    plain = S3Store(bucket, prefix=prefix, client_options={"allow_http": True})
    return {item["path"]: item["size"] for item in plain.list().collect()}


def seed(uri: str, keys: list[str]) -> None:
    """Write keys directly into the server: thousands of requests would take a minute."""
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    server = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    for key in keys:
        server.put_object(bucket, f"{prefix}/{key}", b"")


def test_a_growing_key_has_one_object_per_append(s3: Backend) -> None:
    s3.append("job/1.frames", 0, b"one,")
    s3.append("job/1.frames", 4, b"two")
    s3.append("job/1.frames", 4, b"two")

    assert objects(s3.uri) == {
        "job/1.frames/00000000000000000000": 4,
        "job/1.frames/00000000000000000004": 3,
    }


def test_chunks_after_a_gap_are_not_read(s3: Backend) -> None:
    s3.append("job/1.frames", 0, b"one,")
    s3.append("job/1.frames", 4, b"two,")
    s3.append("job/1.frames", 12, b"four")

    assert s3.read("job/1.frames") == b"one,two,"
    assert [entry.size for entry in s3.entries("job")] == [8]


def test_chunks_without_a_first_chunk_are_listed_and_can_be_deleted(s3: Backend) -> None:
    s3.append("job/1.frames", 0, b"one,")
    open_backend(s3.uri).delete(["job/1.frames"])
    s3.append("job/1.frames", 4, b"two,")  # this backend cannot know

    (remaining,) = s3.entries("job")
    assert (remaining.key, remaining.size) == ("job/1.frames", 0)
    s3.delete([remaining.key])
    assert objects(s3.uri) == {}


def test_writing_a_key_replaces_its_chunks(s3: Backend) -> None:
    s3.append("job/1.frames", 0, b"one,")
    s3.append("job/1.frames", 4, b"two,")

    s3.write("job/1.frames", b"anew")

    assert s3.read("job/1.frames") == b"anew"
    assert objects(s3.uri) == {"job/1.frames/00000000000000000000": 4}


def test_a_key_that_cannot_grow_is_refused(s3: Backend) -> None:
    with pytest.raises(StoreError, match=r"Cannot append to job/job\.json"):
        s3.append("job/job.json", 0, b"1")


def test_thousands_of_keys_are_listed_and_deleted_page_by_page(s3: Backend) -> None:
    keys = [f"job/{number:05d}.json" for number in range(1_500)]
    sections = [f"job/1.frames/{number:020d}" for number in range(1_500)]
    folders = [f"jobs/{number:04d}/job.json" for number in range(1_500)]
    seed(s3.uri, [*keys, *sections, *folders])

    assert [entry.key for entry in s3.entries("job")] == sorted([*keys, "job/1.frames"])
    assert s3.folders("jobs") == [f"{number:04d}" for number in range(1_500)]
    s3.delete([*keys, "job/1.frames"])
    assert s3.entries("job") == []


def test_a_prefix_may_be_empty_or_end_with_a_slash(s3_uri: str) -> None:
    bucket, _, prefix = s3_uri.removeprefix("s3://").partition("/")
    open_backend(f"{s3_uri}/").write("job.json", b"1")

    assert open_backend(f"s3://{bucket}").read(f"{prefix}/job.json") == b"1"
    assert open_backend(s3_uri).read("job.json") == b"1"


@pytest.mark.parametrize("uri", ["s3://", "s3:///prefix", "s3://id:hidden@bucket/prefix"])
def test_a_uri_without_a_bucket_is_refused_without_repeating_it(uri: str) -> None:
    with pytest.raises(UsageError, match="s3://bucket/prefix") as caught:
        open_backend(uri)
    assert "hidden" not in str(caught.value)


def test_the_endpoint_may_be_set_for_s3_only(
    s3_uri: str, s3_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{s3_port}")

    store = open_backend(s3_uri)
    store.write("job.json", b"1")
    assert store.read("job.json") == b"1"


def test_a_missing_bucket_is_a_one_line_error(s3_environment: None) -> None:
    s3 = open_backend("s3://no-such-bucket/prefix")

    for attempt in (
        lambda: s3.read("job.json"),
        lambda: s3.write("job.json", b""),
        lambda: s3.create("job.json", b""),
        lambda: s3.append("1.frames", 0, b"1"),
        lambda: s3.entries("job.json"),
        lambda: s3.delete(["job.json"]),
    ):
        with pytest.raises(StoreError) as caught:
            attempt()
        assert not isinstance(caught.value, KeyMissingError)
        assert str(caught.value).startswith("Cannot ")
        assert str(caught.value).endswith(": the specified bucket does not exist")


def test_an_invalid_key_raises_a_store_error(s3: Backend) -> None:
    with pytest.raises(StoreError, match="Cannot write"):
        s3.write("../job.json", b"1")


def test_missing_obstore_is_reported_with_how_to_install_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT_OBSTORE], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip().endswith(
        "requires obstore. Install it with: pip install 'sonde[s3]'"
    )


def test_a_put_retried_after_a_lost_response_still_counts_as_created(
    s3: Backend,
) -> None:
    assert s3.create("job.json", b"by me")
    assert s3.create("job.json", b"by me")
    assert not s3.create("job.json", b"by another")


@pytest.mark.parametrize("key", ["job/start.json", "job/1.frames"])
def test_objects_larger_than_sonde_writes_are_not_read(
    s3: Backend, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonde.store.limits.MAX_DOCUMENT_BYTES", 1000)
    monkeypatch.setattr("sonde.store.limits.MAX_LOG_BYTES", 1000)
    s3.write(key, bytes(1001))
    with pytest.raises(DamagedError, match="1,001 bytes, more than 1,000"):
        s3.read(key)
    assert len(s3.read(key, 1)) == 1000
    assert len(s3.read(key, 0, 10)) == 10
    s3.write(key, bytes(1000))
    assert len(s3.read(key)) == 1000


def test_a_large_object_is_read_in_ranges(s3: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytes(range(256)) * 8
    s3.write("values/1.safetensors", content)
    views = [s3.view("values/1.safetensors")]
    monkeypatch.setattr("sonde.store.backends.s3.MAX_WHOLE_READ_BYTES", 1000)
    monkeypatch.setattr("sonde.store.limits.MAX_FILE_BYTES", 1500)
    views.append(s3.view("values/1.safetensors"))
    for view in views:
        assert view.size == len(content)
        assert view.read(100, 400) == content[100:400]
        assert view.read(2000, 9000) == content[2000:]
        assert view.read(5000, 9000) == b""
    with pytest.raises(KeyMissingError):
        s3.view("values/2.safetensors")
