"""The page of a bundle: the built dashboard with recorded replies, for `file://`."""

from importlib.resources import files
from typing import Any

from sonde.drawing.html import Raw, data_block, element
from sonde.drawing.page import content_hash
from sonde.errors import SondeError
from sonde.web.bundle.recorder import Recording

DATA_NAME = "bundle"  # ui/src/bundle.ts reads the block with this name


def bundle_page(recording: Recording, version: str) -> bytes:
    """The page; its policy allows only its own style and script, and no connections."""
    style, script = _asset("app.css"), _asset("app.js")
    policy = (
        f"default-src 'none'; style-src '{content_hash(style)}'; "
        f"script-src '{content_hash(script)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'"
    )
    document: dict[str, Any] = {
        "job": recording.job,
        "as_of": recording.as_of,
        "start": recording.start,
        "seconds": recording.seconds,
        "version": version,
        "omitted": recording.notes,
        "replies": recording.entries,
    }
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{recording.job} · Sonde"),
        element("link", rel="icon", href="data:,"),
        element("style", Raw(style)),
    )
    body = element(
        "body",
        element("div", id="app"),
        element("noscript", "The dashboard needs JavaScript."),
        data_block(DATA_NAME, document),
        element("script", Raw(script)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n".encode()


def page_bytes() -> int:
    """The size of a page without replies."""
    return len(bundle_page(Recording("", 0.0, 0.0, 0.0), ""))


def _asset(name: str) -> str:
    path = files("sonde.web").joinpath("assets", name)
    if not path.is_file():
        raise SondeError("The dashboard has not been built. In a source checkout, run: make ui")
    return path.read_text(encoding="utf-8")
