"""`webhook`: post a finding to a URL."""

import hashlib
import hmac
import json
from typing import Any, ClassVar

from sonde.actions._action import Action, Occasion, key, secret_keys
from sonde.actions._http import Post, read_address, send, web_address
from sonde.actions._message import encoded, subject, text
from sonde.clock import NANOSECONDS
from sonde.settings import Key, Secret
from sonde.settings.checks import one_of

_SHAPES = ("json", "slack", "teams", "discord")
_DISCORD_LIMIT = 2_000  # characters


class Webhook(Action):
    """Post the finding to a URL as JSON, or as a message to Slack, Teams or Discord."""

    keys: ClassVar[tuple[Key, ...]] = (
        key("url", web_address, "", "URL to post to"),
        *secret_keys("url", "the URL; treat chat webhooks as secrets"),
        key(
            *("shape", one_of(_SHAPES), '"json"'),
            "format: the complete finding as `json`, or a `slack`, `teams` or `discord` message",
        ),
        *secret_keys("secret", "the secret to sign requests with"),
        *secret_keys("token", "a token, sent as `Authorization: Bearer …`"),
    )
    required: ClassVar[tuple[str, ...]] = ("url",)

    url: str | Secret = ""
    shape: str = "json"
    secret: Secret | None = None
    token: Secret | None = None

    def ready(self) -> None:
        """Validate a URL that is a secret."""
        super().ready()
        read_address(self.url)

    def perform(self, occasion: Occasion) -> str:
        body = self._body(occasion).encode()
        headers = {"X-Sonde-Episode": hashlib.sha256(_identity(occasion)).hexdigest()[:32]}
        if self.secret is not None:
            seconds = occasion.clock.now_ns() // NANOSECONDS
            headers["X-Sonde-Signature"] = signature(self.secret.read(), seconds, body)
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token.read()}"
        return send(Post(read_address(self.url), body, headers=headers))

    def _body(self, occasion: Occasion) -> str:
        if self.shape == "json":
            return encoded(occasion)
        message = text(occasion)
        shapes: dict[str, dict[str, Any]] = {
            "slack": {"text": _for_slack(message)},
            "teams": _card(subject(occasion), message),
            # texts from the store must not mention people
            "discord": {"content": message[:_DISCORD_LIMIT], "allowed_mentions": {"parse": []}},
        }
        return json.dumps(shapes[self.shape], ensure_ascii=False)


def signature(secret: str, seconds: int, body: bytes) -> str:
    """A signature that proves who sent a request, and when."""
    signed = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={signed}"


def _identity(occasion: Occasion) -> bytes:
    """A value that is the same for every attempt, so that receivers can detect duplicates."""
    return f"{occasion.backend.uri}\n{occasion.episode.id}".encode()


def _for_slack(message: str) -> str:
    """Escape characters that would mention people."""
    return message.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _card(title: str, message: str) -> dict[str, Any]:
    blocks = [
        {"type": "TextBlock", "text": title, "weight": "Bolder", "wrap": True},
        {"type": "TextBlock", "text": message, "wrap": True},
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": blocks,
    }
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}
