"""The page itself, and the files that it is made of."""

import hashlib
from html import escape
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

_MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOR_EVER = "public, max-age=31536000, immutable"
_NOT_BUILT = "The page has not been built. In a checkout of Sonde: make ui"


def _assets() -> dict[str, bytes]:
    folder = files("sonde.show").joinpath("assets")
    if not folder.is_dir():
        return {}
    return {
        one.name: one.read_bytes()
        for one in folder.iterdir()
        if one.is_file() and f".{one.name.rpartition('.')[2]}" in _MEDIA_TYPES
    }


async def page(_request: Request) -> Response:
    """The one page; which part of it is shown, it finds in the address itself."""
    assets = _assets()
    if "app.js" not in assets:
        return Response(_document(escape(_NOT_BUILT), ""), media_type="text/html")
    head = (
        f'<link rel="stylesheet" href="/assets/app.css?v={_version(assets.get("app.css", b""))}">'
        f'<script defer src="/assets/app.js?v={_version(assets["app.js"])}"></script>'
    )
    headers = {"Cache-Control": "no-cache"}
    body = '<div id="app"></div><noscript>The dashboard needs JavaScript.</noscript>'
    return Response(_document(body, head), media_type="text/html", headers=headers)


async def asset(request: Request) -> Response:
    """One built file, by its name; there are no others."""
    name = request.path_params["name"]
    content = _assets().get(name)
    if content is None:
        return Response("There is no such file.", 404, media_type="text/plain")
    is_named = request.query_params.get("v") == _version(content)
    headers = {"Cache-Control": _FOR_EVER if is_named else "no-cache"}
    kind = _MEDIA_TYPES[f".{name.rpartition('.')[2]}"]
    return Response(content, headers={**headers, "Content-Type": kind})


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _document(body: str, head: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sonde</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"{head}</head><body>{body}</body></html>"
    )
