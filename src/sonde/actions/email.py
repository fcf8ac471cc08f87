"""`email`: a mail about a finding."""

from email.headerregistry import Address
from typing import ClassVar

from sonde.actions._action import Occasion, key
from sonde.actions._mail import MailingAction, mail_addresses
from sonde.actions._message import subject, text
from sonde.settings import Key


class Email(MailingAction):
    """Send a mail, through any mail server."""

    keys: ClassVar[tuple[Key, ...]] = (
        key("to", mail_addresses, "", "who gets it: an address, or a list of them"),
        *MailingAction.mail_keys,
    )
    required: ClassVar[tuple[str, ...]] = ("to",)

    to: tuple[Address, ...] = ()

    def perform(self, occasion: Occasion) -> str:
        title = f"[sonde] {subject(occasion)}"
        return self.mail(occasion.clock, self.to, title, text(occasion))
