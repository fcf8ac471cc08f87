"""HTML elements with escaped texts."""

import json
import re

import pytest

from sonde.drawing.html import Raw, data_block, element, prose

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; alert(1) //",
    "</title></style></script><b>",
    "a & b &lt; c",
    "]]><!-- -->",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_are_escaped(text: str) -> None:
    html = str(element("p", text, title=text))
    assert html.count("<") == 2
    assert re.fullmatch(r'<p title="[^"<>]*">[^<>]*</p>', html)


@pytest.mark.parametrize("text", HOSTILE)
def test_data_cannot_end_its_script_block(text: str) -> None:
    html = str(data_block("chart", {"title": text}))
    inner = re.fullmatch(r"<script [^>]*>(.*)</script>", html, re.DOTALL)
    assert inner is not None
    assert "<" not in inner[1]
    assert json.loads(inner[1]) == {"title": text}


def test_control_characters_are_escaped_and_colors_removed() -> None:
    html = str(element("p", "a\x00b\u202ec\nd\x1b[31m\x1be"))
    assert html == "<p>a\\x00b\\u202ec\nd\\x1be</p>"


def test_attributes_that_are_none_are_dropped() -> None:
    html = str(element("details", Raw("<i>"), open=True, id=None, hidden=False, data_chart="x"))
    assert html == '<details open="" data-chart="x"><i></details>'


def test_void_elements_are_not_closed() -> None:
    assert str(element("meta", charset="utf-8")) == '<meta charset="utf-8">'


def test_text_between_backticks_is_code() -> None:
    assert str(element("p", *prose("set `a<b` now"))) == "<p>set <code>a&lt;b</code> now</p>"
    assert prose("one ` alone") == ["one ` alone"]
