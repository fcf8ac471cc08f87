"""Convert a DebuggerHookConfig: which tensors are recorded, at which steps, and how."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonde.records.step import Mode
from sonde.records.tensor import BUILT_IN_COLLECTIONS, Reduction
from sonde.settings.smdebug.toml import Section
from sonde.settings.smdebug.values import is_true, items_of, whole_number

_DEFAULT_INTERVAL = 500
_SCHEDULE = ("save_interval", "start_step", "end_step", "save_steps")
_MODES = tuple(mode.value for mode in Mode)
_EVERY_STEP = {"losses", "metrics", "sm_metrics", "default"}
_RENAMED = {"optimizer_variables": "optimizer_state"}
_UNSUPPORTED = {"layers", "tensorflow_summaries"}
_IGNORED = {
    "include_workers": "every worker is recorded",
    "export_tensorboard": "use `sonde ui`",
    "tensorboard_dir": "use `sonde ui`",
    "dry_run": "`sonde doctor` checks what can be recorded",
    "save_shape": "shapes are always recorded",
}


@dataclass(frozen=True, slots=True)
class _Request:
    """A collection, with parameters that complete those of the hook."""

    name: str
    parameters: Mapping[str, Any]


def convert_hook(document: Mapping[str, Any]) -> list[Section]:
    """Return one [[save.collection]] for each recorded collection."""
    notes = Section("")
    for key in ("S3OutputPath", "LocalPath"):
        if document.get(key):
            notes.notes.append(f"{key} {document[key]}: pass the location as `sonde run --store`")
    defaults = dict(document.get("HookParameters") or {})
    for key, text in _IGNORED.items():
        if defaults.pop(key, None) is not None:
            notes.notes.append(f"{key}: {text}")
    sections = [_collection(request, defaults) for request in _requests(document, defaults)]
    return [notes, *sections]


def _requests(document: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[_Request]:
    configurations = document.get("CollectionConfigurations") or document.get(
        "CollectionConfiguration"
    )
    requests = [
        _Request(str(item.get("CollectionName")), dict(item.get("CollectionParameters") or {}))
        for item in configurations or ()
    ]
    names = items_of(defaults.get("include_collections", ""))
    requests += [_Request(name, {}) for name in names]
    if is_true(defaults.get("save_all", False)):
        requests.append(_Request("all", {}))
    if defaults.get("include_regex"):
        requests.append(_Request("included", {"include_regex": defaults["include_regex"]}))
    return list({request.name: request for request in reversed(requests)}.values())[::-1]


def _collection(request: _Request, defaults: Mapping[str, Any]) -> Section:
    name = _RENAMED.get(request.name, request.name)
    if name in _EVERY_STEP:
        return Section("", notes=[f"collection {name}: recorded at every step"])
    if name in _UNSUPPORTED:
        return Section("", notes=[f"collection {name}: no counterpart"])
    parameters = {**{key: defaults[key] for key in defaults.keys() - {"include_regex"}}}
    parameters |= request.parameters
    section = Section("[[save.collection]]")
    section.values["name"] = _valid_name(name)
    patterns = items_of(parameters.get("include_regex", ""))
    if name in BUILT_IN_COLLECTIONS:
        if patterns:
            section.notes.append("include_regex: not needed, the collection is built in")
    elif patterns:
        section.values["include"] = "|".join(patterns)
    else:
        return Section("", notes=[f"collection {name}: needs include_regex"])
    schedules = _schedules(parameters, section)
    if not schedules:
        return Section("", notes=[f"collection {name}: recorded at no step"])
    section.values |= schedules
    section.values |= _contents(parameters, section)
    return section


def _valid_name(name: str) -> str:
    valid = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
    return valid if valid[:1].isalpha() else f"c{valid}"


def _schedules(parameters: Mapping[str, Any], section: Section) -> dict[str, Any]:
    """The schedule of all modes, or of each recorded mode; empty if nothing is recorded."""
    by_mode = {mode: _schedule(parameters, mode) for mode in _MODES}
    recorded = {mode: schedule for mode, schedule in by_mode.items() if schedule is not None}
    schedules = list(recorded.values())
    if any("steps" in schedule for schedule in schedules):
        section.notes.append("save_steps: exactly these steps, without save_interval")
    if len(recorded) == len(_MODES) and all(item == schedules[0] for item in schedules):
        return schedules[0]
    return dict(recorded)


def _schedule(parameters: Mapping[str, Any], mode: str) -> dict[str, Any] | None:
    """The schedule of one mode; None if it is not recorded."""
    values = {
        key: parameters.get(f"{mode}.{key}", parameters.get(f"global.{key}", parameters.get(key)))
        for key in _SCHEDULE
    }
    if values["save_steps"] is not None:
        return {
            "steps": [whole_number(step, "save_steps") for step in items_of(values["save_steps"])]
        }
    every = whole_number(values["save_interval"] or _DEFAULT_INTERVAL, "save_interval")
    start = whole_number(values["start_step"] or 0, "start_step")
    start += -start % every  # the service recorded multiples of the interval
    schedule = {"every": every, **({"start": start} if start else {})}
    if values["end_step"] in (None, "None"):
        return schedule
    end = whole_number(values["end_step"], "end_step")
    return {**schedule, "end": end} if end > start else None


def _contents(parameters: Mapping[str, Any], section: Section) -> dict[str, Any]:
    """What is recorded of the tensors; full values unless there are reductions."""
    contents: dict[str, Any] = {}
    reductions = items_of(parameters.get("reductions", ""))
    known = {name: _reduction(name) for name in reductions}
    section.notes += [f"reduction {name}: no counterpart" for name in known if not known[name]]
    if any(known.values()):
        contents["reductions"] = list(dict.fromkeys(filter(None, known.values())))
    if not reductions or is_true(parameters.get("save_raw_tensor", False)):
        contents["values"] = True
    if is_true(parameters.get("save_histogram", False)):
        contents["histogram"] = True
    return contents


def _reduction(name: str) -> str:
    """The name of a reduction here; empty if there is none."""
    norm = re.fullmatch(r"(?:abs_)?(l[12])(?:_norm)?", name)
    name = f"{norm[1]}_norm" if norm else name
    return name if name in [item.value for item in Reduction] else ""
