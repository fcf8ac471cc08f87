"""`email`: send an email."""

from email.headerregistry import Address
from typing import ClassVar

from sonde.actions._action import Occasion, key
from sonde.actions._mail import MailingAction, mail_addresses
from sonde.actions._message import subject, text
from sonde.settings import Key


class Email(MailingAction):
    """Send an email through an SMTP server."""

    keys: ClassVar[tuple[Key, ...]] = (
        key("to", mail_addresses, "", "recipients: an address or a list"),
        *MailingAction.mail_keys,
    )
    required: ClassVar[tuple[str, ...]] = ("to",)

    to: tuple[Address, ...] = ()

    def perform(self, occasion: Occasion) -> str:
        title = f"[sonde] {subject(occasion)}"
        return self.mail(occasion.clock, self.to, title, text(occasion))
