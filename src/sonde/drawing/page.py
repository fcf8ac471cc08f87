"""A self-contained page with embedded style and script."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from sonde.drawing.html import Element, Raw, element

PAGE_STYLE = Path(__file__).with_name("page.css")
_ASSETS = Path(__file__).with_name("assets")


def whole_page(body: Element, title: str) -> str:
    """The complete page; its policy only allows the embedded style and script, by hash."""
    style = PAGE_STYLE.read_text(encoding="utf-8") + _asset("report.css")
    script = _asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{content_hash(style)}'; "
        f"script-src {repr(content_hash(script)) if script else repr('none')}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Raw(style)),
    )
    if script:
        body = Element("body", body.attributes, (*body.children, element("script", Raw(script))))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def on_paper(html: str, size: str) -> str:
    """Set the paper size of a page, such as A4."""
    style = f"@page{{size:{size}}}"
    allowed = html.replace("; script-src", f" '{content_hash(style)}'; script-src", 1)
    return allowed.replace("</head>", f"{element('style', Raw(style))}</head>", 1)


def _asset(name: str) -> str:
    file = _ASSETS / name
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def content_hash(text: str) -> str:
    """The hash that allows an embedded style or script in a Content Security Policy."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
