"""EagerAttention: attention is computed with separate products and a softmax."""

from collections.abc import Iterator
from dataclasses import dataclass

from sonde.formats import format_percent, pluralize
from sonde.read.window import Window
from sonde.records.advice import Bottleneck, Improvement, Remedy
from sonde.records.finding import Finding
from sonde.rules._parameters import Percent
from sonde.rules._rule import State
from sonde.rules.measures.device_rules import (
    DeviceWorkRule,
    faster_work,
    operators_of,
    severity_of,
)
from sonde.rules.measures.step_profiles import Pace


@dataclass(frozen=True, slots=True)
class Calibration:
    """How much faster fused attention is: a typical factor, not measured on these machines.

    It grows with the length of sequences, because the matrix of scores is never stored.
    """

    factors: tuple[float, float, float] = (1.3, 2.5, 6.0)


LIMITS = Calibration()


class EagerAttention(DeviceWorkRule):
    """Attention is computed with separate products and a softmax.

    Why it matters: The matrix of scores is written to memory and read again several times. A fused
    kernel keeps it on the chip, which is faster and needs much less memory.
    How it decides:
    - In a profiled step, a batched product, a softmax and another batched product follow each
      other within 40 operators. No fused attention runs.
    - Their kernels take more than `threshold` percent of the device's time.
    What to do: Use `torch.nn.functional.scaled_dot_product_attention`; in transformers,
    `attn_implementation="sdpa"`.
    """

    threshold: Percent = 10.0

    calibration = LIMITS

    def judge(self, measured: State, pace: Pace, window: Window) -> Iterator[Finding]:
        """Compare the time of attention with that of all kernels."""
        del window
        percent = 100 * measured["attention_ns"] / max(measured["total_ns"], 1.0)
        if percent <= self.threshold:
            return
        reason = (
            f"attention takes {format_percent(percent)} of the device's time; a typical factor, "
            "larger for long sequences. Not measured here."
        )
        gain = faster_work(measured, pace, measured["attention_ns"], LIMITS.factors, reason)
        code = "F.scaled_dot_product_attention(query, key, value, is_causal=True)"
        remedy = Remedy("scaled_dot_product_attention", code, gain)
        count = pluralize(measured["attentions"], "softmax", "softmaxes")
        yield self.finding(
            f"Attention is computed with separate operators ({count} per step), which take "
            f"{format_percent(percent)} of the device's time.",
            severity=severity_of(gain),
            step=pace.steps,
            worker=pace.worker,
            subject=f"worker {pace.worker}",
            improvement=Improvement(
                Bottleneck.ATTENTION, (remedy,), operators_of(measured, "attention")
            ),
            evidence={"attention_percent": percent, "softmaxes": measured["attentions"]},
        )
