"""The dashboard page and its built assets."""

import hashlib
from functools import lru_cache
from html import escape
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from sonde.web.replies import Packed, Reply, packed
from sonde.web.responses import response, wants_gzip

_MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HTML = "text/html; charset=utf-8"
_CACHE_FOREVER = "public, max-age=31536000, immutable"
_NOT_BUILT = "The dashboard has not been built. In a source checkout, run: make ui"


def _assets() -> dict[str, bytes]:
    folder = files("sonde.web").joinpath("assets")
    if not folder.is_dir():
        return {}
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and f".{path.name.rpartition('.')[2]}" in _MEDIA_TYPES
    }


async def page(request: Request) -> Response:
    """Serve the single page; its script selects the view from the URL."""
    assets = _assets()
    head, body = "", escape(_NOT_BUILT)
    if "app.js" in assets:
        style, script = _version(assets.get("app.css", b"")), _version(assets["app.js"])
        head = (
            f'<link rel="stylesheet" href="/assets/app.css?v={style}">'
            f'<script defer src="/assets/app.js?v={script}"></script>'
        )
        body = '<div id="app"></div><noscript>The dashboard needs JavaScript.</noscript>'
    return response(request, _packed(_document(body, head).encode(), _HTML, wants_gzip(request)))


async def asset(request: Request) -> Response:
    """Serve one built file by name."""
    name = request.path_params["name"]
    content = _assets().get(name)
    if content is None:
        return Response("File not found.", 404, media_type="text/plain")
    kind = _MEDIA_TYPES[f".{name.rpartition('.')[2]}"]
    is_versioned = request.query_params.get("v") == _version(content)
    caching = _CACHE_FOREVER if is_versioned else "no-cache"
    return response(request, _packed(content, kind, wants_gzip(request)), caching)


@lru_cache(maxsize=32)
def _packed(content: bytes, media_type: str, is_gzip_wanted: bool) -> Packed:
    return packed(Reply(content, media_type), is_gzip_wanted=is_gzip_wanted)


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _document(body: str, head: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sonde</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"{head}</head><body>{body}</body></html>"
    )
