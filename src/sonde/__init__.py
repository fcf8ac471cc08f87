"""Sonde watches a training job from the outside, from the inside and down to its tensors.

The public names, resolved when first used: `import sonde` inside a training process loads no
server, no data frames, no framework and no Arrow.
"""

__version__ = "0.1.0"
