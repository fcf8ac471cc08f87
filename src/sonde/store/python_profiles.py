"""Encode Python profiles. Standard library only: this runs in the training process."""

import json
from dataclasses import astuple, fields

from sonde.records.python_profile import PythonProfile
from sonde.store.blobs import encode_blob, zipped


def encode_profile(profile: PythonProfile, key: str) -> bytes:
    """Encode a profile as a blob of JSON, with the name, file and line of each function."""
    document = {field.name: getattr(profile, field.name) for field in fields(profile)}
    document["functions"] = [astuple(function) for function in profile.functions]
    return encode_blob(zipped(json.dumps(document, separators=(",", ":")).encode(), key))
