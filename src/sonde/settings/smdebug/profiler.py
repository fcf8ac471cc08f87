"""Convert a ProfilerConfig: the sampling interval and the profiler windows."""

from collections.abc import Mapping
from typing import Any

from sonde.settings.smdebug.toml import Section
from sonde.settings.smdebug.values import document_of, is_true, whole_number, without_case

_INTERVAL = "profilingintervalinmilliseconds"
_PARAMETERS = "profilingparameters"
_DISABLED = "disableprofiler"

_KINDS = {
    "detailedprofilingconfig": "operators",
    "dataloaderprofilingconfig": "dataloader",
    "pythonprofilingconfig": "python",
    "horovodprofilingconfig": "distributed",
    "smdataparallelprofilingconfig": "distributed",
}
_TIMERS = {"total_time": "total", "cpu_time": "cpu", "off_cpu_time": "off_cpu"}

# settings of the service's files, which Sonde does not have
_FILES = {
    *("rotatemaxfilesizeinbytes", "rotatefilecloseintervalinseconds", "fileopenfailthreshold"),
    *("localpath", "s3outputpath", "profilerenabled"),
}


def convert_profiler(document: Mapping[str, Any]) -> list[Section]:
    """Return [system] and [profile]."""
    config = without_case(document)
    system = Section("[system]")
    if config.get(_INTERVAL) is not None:
        interval = whole_number(config[_INTERVAL], "ProfilingIntervalInMilliseconds")
        system.values["interval"] = f"{interval}ms"
    if is_true(config.get(_DISABLED, False)):
        system.notes.append(
            "DisableProfiler: system metrics are always recorded; no profiler windows"
        )
        return [system, Section("[profile]", dict.fromkeys(dict.fromkeys(_KINDS.values()), False))]
    parameters = without_case(document_of(config.get(_PARAMETERS) or {}, "ProfilingParameters"))
    profile = Section("[profile]")
    for name, value in parameters.items():
        if name in _KINDS:
            kind = _KINDS[name]
            window = _window(without_case(document_of(value, name)), kind, profile.notes)
            profile.values.setdefault(kind, window)
        elif name not in _FILES:
            profile.notes.append(f"{name}: no counterpart")
    return [system, profile]


def _window(config: Mapping[str, Any], kind: str, notes: list[str]) -> dict[str, Any]:
    window: dict[str, Any] = {}
    for name, key in (("startstep", "start_step"), ("numsteps", "num_steps")):
        if config.get(name) is not None:
            window[key] = whole_number(config[name], f"{kind} {name}")
    duration = config.get("durationinseconds", config.get("duration"))
    if duration is not None and "num_steps" not in window:
        window["duration"] = f"{float(duration):g}s"
    if config.get("starttimeinsecsinceepoch") is not None:
        notes.append(
            f"{kind}: StartTimeInSecSinceEpoch is a date; start_time is the time since the start "
            "of training"
        )
    if config.get("metricsregex") not in (None, ".*"):
        notes.append(f"{kind}: MetricsRegex has no counterpart, everything is recorded")
    if kind == "python":
        is_sampled = str(config.get("profilername", "cprofile")).lower() == "pyinstrument"
        window["profiler"] = "stacks" if is_sampled else "cprofile"
        timer = _TIMERS.get(str(config.get("cprofiletimer", "")).lower())
        if timer is not None and not is_sampled:
            window["timer"] = timer
    return window
