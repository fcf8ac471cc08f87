"""Secrets in columns of recorded rows are masked; other texts are unchanged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.masking import mask_texts
from sonde.store.format import EVENTS, OBSERVATIONS, OPERATIONS, SCALARS, STATISTICS, TEXT, Family
from tests.fakes.job import FakeJob

SECRETS = (
    "hf_AbCdEfGh0123456789XyZaBcDeFgHiJkLm",
    "sk-proj-Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8",
    "AKIAIOSFODNN7EXAMPLQ",
    "ghp_0123456789abcdefABCDEF0123456789abcd",
)
TEXT_COLUMNS = ("name", "subject", "module", "lane", "detail")
WORDS = st.text(alphabet="abcdefghijklmnop _./:(){}[]\"',-", max_size=30)


@given(WORDS, st.sampled_from(SECRETS), WORDS, st.booleans())
def test_a_secret_in_a_text_or_a_json_document_is_masked(
    before: str, secret: str, after: str, is_document: bool
) -> None:
    text = f"{before} {secret} {after}"
    if is_document:
        text = json.dumps({"stack": [text, 1], "in": {text: None}})
    (masked,) = mask_texts([text])
    assert secret not in masked
    if is_document:
        assert set(json.loads(masked)) == {"stack", "in"}


@given(st.lists(st.from_regex(r"[0-9a-f]{8,64}|layers\.[0-9]+\.key_proj\.weight", fullmatch=True)))
def test_names_and_checksums_are_unchanged(texts: list[str]) -> None:
    documents = [json.dumps({"checksum": text, "count": 3}) for text in texts]
    assert mask_texts([*texts, *documents]) == [*texts, *documents]


@pytest.mark.parametrize("text", ["half \ud800 a sign", "[" * 900 + '"x"' + "]" * 900])
def test_invalid_or_deeply_nested_texts_are_accepted(text: str) -> None:
    (masked,) = mask_texts([text])
    masked.encode()


@pytest.mark.parametrize("family", [EVENTS, OBSERVATIONS, OPERATIONS, SCALARS, STATISTICS])
@pytest.mark.parametrize("secret", SECRETS)
def test_no_row_with_a_secret_is_written(family: Family, secret: str) -> None:
    job = FakeJob()
    columns = [
        [secret if name in TEXT_COLUMNS else ""] if code == TEXT else [1]
        for name, code in family.columns
    ]
    job.writer.add_columns(family, columns, 1, 1)
    job.flush()
    (row,) = job.reader(family).rows().to_pylist()
    assert secret not in str(row)
    assert {row[name] for name, _ in family.columns if name in TEXT_COLUMNS} == {"***"}
