"""`webhook`: a request to a web server about a finding."""

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
_MOST_OF_DISCORD = 2_000  # characters of a message


class Webhook(Action):
    """Post the finding to a web address: as JSON, or as a message to Slack, Teams or Discord."""

    keys: ClassVar[tuple[Key, ...]] = (
        key("url", web_address, "", "the address"),
        *secret_keys("url", "the address: who knows that of a chat may write there"),
        key(
            *("shape", one_of(_SHAPES), '"json"'),
            "what is sent: all of the finding as JSON, or what a chat takes: `slack`, `teams`, "
            "`discord`",
        ),
        *secret_keys("secret", "the secret that requests are signed with"),
        *secret_keys("token", "a token, sent as `Authorization: Bearer …`"),
    )
    required: ClassVar[tuple[str, ...]] = ("url",)

    url: str | Secret = ""
    shape: str = "json"
    secret: Secret | None = None
    token: Secret | None = None

    def ready(self) -> None:
        """An address that is a secret is looked at once."""
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
            # nobody is called by what is in a store
            "discord": {"content": message[:_MOST_OF_DISCORD], "allowed_mentions": {"parse": []}},
        }
        return json.dumps(shapes[self.shape], ensure_ascii=False)


def signature(secret: str, seconds: int, body: bytes) -> str:
    """Proves that a request was sent by who knows the secret, at that time."""
    signed = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={signed}"


def _identity(occasion: Occasion) -> bytes:
    """The same for every attempt, so that a receiver can tell them from another finding."""
    return f"{occasion.backend.uri}\n{occasion.episode.id}".encode()


def _for_slack(message: str) -> str:
    """Without the signs that would call people."""
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
