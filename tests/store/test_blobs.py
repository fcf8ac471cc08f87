"""Blobs return the original bytes or an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.errors import DamagedError, FormatTooNewError
from sonde.store import blobs as module
from sonde.store.blobs import decode_blob, encode_blob
from tests.fakes.damage import all_flips


@given(st.binary())
def test_encoded_content_is_decoded(content: bytes) -> None:
    assert decode_blob(encode_blob(content), "a") == content


@pytest.mark.parametrize("content", [b"", b"a trace"])
def test_every_flipped_bit_is_detected(content: bytes) -> None:
    for _, damaged in all_flips(encode_blob(content)):
        with pytest.raises(DamagedError, match="profiles/a is damaged"):
            decode_blob(damaged, "profiles/a")


@pytest.mark.parametrize("content", [b"", b"a trace"])
def test_every_truncation_is_detected(content: bytes) -> None:
    complete = encode_blob(content)

    for length in range(len(complete)):
        with pytest.raises(DamagedError, match="profiles/a is damaged"):
            decode_blob(complete[:length], "profiles/a")


def test_a_newer_format_is_refused_with_advice_to_upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FORMAT_VERSION", 2)
    newer = encode_blob(b"a trace")

    with pytest.raises(FormatTooNewError, match=r"profiles/a .* pip install -U sonde"):
        decode_blob(newer, "profiles/a")
