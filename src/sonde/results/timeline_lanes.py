"""The tracks of a timeline as lanes of a chart."""

from typing import TYPE_CHECKING

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.formats import pluralize
from sonde.records.chart import Lane, Lanes, Span, Spec
from sonde.records.step import EventCategory

if TYPE_CHECKING:
    from sonde.results.timeline import SliceTrack, TimelineWindow

_MAX_LANES = 30
_MAX_SPANS = 200
_STEP_TONES = ("place 0", "place 4")  # alternating, so that adjacent steps differ


def timeline_lanes(window: "TimelineWindow") -> Spec:
    """The longest slices of each track, in seconds since the first of them."""
    tracks = [slice for slice in window.slices if len(slice.starts_ns)][:_MAX_LANES]
    first_ns = min((int(track.starts_ns.min()) for track in tracks), default=0)
    last_ns = max(
        (int((track.starts_ns + track.durations_ns).max()) for track in tracks), default=0
    )
    several = len({track.worker for track in tracks}) > 1
    left_out = sum(max(0, len(track.starts_ns) - _MAX_SPANS) + track.left_out for track in tracks)
    return Lanes(
        title="Timeline",
        coarsened=f"{pluralize(left_out, 'shorter slice')} not shown." if left_out else "",
        lanes=tuple(_lane(track, first_ns, is_named=several) for track in tracks),
        end=(last_ns - first_ns) / NANOSECONDS,
    )


def _lane(track: "SliceTrack", first_ns: int, *, is_named: bool) -> Lane:
    longest = np.argsort(-track.durations_ns, kind="stable")[:_MAX_SPANS]
    spans = []
    for index in np.sort(longest).tolist():
        start = (int(track.starts_ns[index]) - first_ns) / NANOSECONDS
        name = track.names[int(track.name_numbers[index])]
        end = start + int(track.durations_ns[index]) / NANOSECONDS
        step = int(track.steps[index])
        is_step = name == EventCategory.STEP
        label = f"{name} {step}" if is_step else name
        tone = _STEP_TONES[step % 2] if is_step else name
        spans.append(Span(start=start, end=end, label=label, tone=tone))
    title = f"{track.worker} {track.title}" if is_named else track.title
    return Lane(label=title, spans=tuple(spans))
