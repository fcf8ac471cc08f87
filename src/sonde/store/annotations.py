"""Tags, group and note of a job: written by users, also after its end."""

from collections.abc import Iterable
from dataclasses import replace

from sonde.errors import DamagedError, KeyMissingError, UsageError
from sonde.formats import format_count
from sonde.masking import mask_text
from sonde.records.job_summary import Annotations
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts

_MAX_TAGS = 32
_MAX_LENGTH = 64
_MAX_NOTE_LENGTH = 4000


def read_annotations(backend: Backend) -> Annotations:
    """What was noted about a job; a damaged document counts as empty."""
    try:
        data = backend.read(layout.ANNOTATIONS)
        return decode_facts(Annotations, data, layout.ANNOTATIONS)
    except KeyMissingError:
        return Annotations()
    except DamagedError as error:
        backend.ledger.report(layout.ANNOTATIONS, str(error))
        return Annotations()


def write_annotations(backend: Backend, annotations: Annotations) -> Annotations:
    """Replace what was noted about a job; return it as stored, with secrets masked.

    Raises:
        UsageError: A text is too long or contains unsuitable characters.
    """
    checked = Annotations(
        tags=tuple(dict.fromkeys(_checked(tag, "tag") for tag in annotations.tags)),
        group=_checked(annotations.group, "group") if annotations.group else "",
        note=mask_text(annotations.note),
    )
    if len(checked.tags) > _MAX_TAGS:
        raise UsageError(f"A job can have up to {_MAX_TAGS} tags, not {len(checked.tags)}.")
    if len(checked.note) > _MAX_NOTE_LENGTH:
        length, limit = format_count(len(checked.note)), format_count(_MAX_NOTE_LENGTH)
        raise UsageError(f"The note has {length} characters. The limit is {limit}.")
    backend.write(layout.ANNOTATIONS, encode_facts(checked, layout.ANNOTATIONS))
    return checked


def with_tags(
    annotations: Annotations, added: Iterable[str], removed: Iterable[str]
) -> Annotations:
    """A copy with tags added and removed."""
    removals = set(removed)
    tags = (*annotations.tags, *added)
    return replace(annotations, tags=tuple(tag for tag in tags if tag not in removals))


def _checked(text: str, what: str) -> str:
    """A tag or group: one word, so that queries can name it."""
    text = mask_text(text.strip())
    is_word = text and not any(letter.isspace() or letter in ",\"'" for letter in text)
    if not is_word or not text.isprintable() or len(text) > _MAX_LENGTH:
        raise UsageError(
            f"Invalid {what} {text!r}. Use up to {_MAX_LENGTH} characters without spaces, commas "
            "and quotes."
        )
    return text
