"""Colors of tones, the same as in the dashboard."""

_TONES = {
    "data_wait": "c2",
    "forward": "c1",
    "backward": "c3",
    "optimizer": "c4",
    "checkpoint": "c5",
    "eval": "c7",
    "evaluation": "c7",
    "communication": "c6",
    "collective": "c6",
    "host_to_device": "c8",
    "between": "base",
    "others": "base",
    "initialization": "c4",
    "training_loop": "c1",
    "train": "c1",
    "finalization": "c7",
    "interruption": "base",
    "cpu": "c1",
    "gpu": "c3",
    "memory": "c7",
    "critical": "bad",
    "warning": "warn",
    "info": "c1",
}
_CYCLE = ("c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8")


def color_of(tone: str, index: int) -> str:
    """The name of a tone's color; for unknown tones, the color at `index`."""
    return _TONES.get(tone.replace(" ", "_"), _CYCLE[index % len(_CYCLE)])
