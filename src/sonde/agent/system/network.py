"""Network traffic."""

from collections.abc import Sequence

from sonde.agent.system._collector import Collector
from sonde.agent.system._counters import DeviceRates, KernelFile
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo

METRICS = (
    MetricInfo("network.receive_bytes_per_second", "bytes_per_second", "bytes received"),
    MetricInfo("network.transmit_bytes_per_second", "bytes_per_second", "bytes sent"),
    MetricInfo("network.receive_packets_per_second", "per_second", "packets received"),
    MetricInfo("network.transmit_packets_per_second", "per_second", "packets sent"),
    MetricInfo("network.errors_per_second", "per_second", "packets with errors, received and sent"),
    MetricInfo("network.drops_per_second", "per_second", "dropped packets, received and sent"),
)
# Virtual interfaces of containers, whose packets also pass a physical interface
_EXCLUDED = (b"lo:", b"veth", b"cali")


class Network(Collector):
    """Network traffic per interface: bytes, packets, errors and drops per second.

    Requires /proc/net/dev. Excludes loopback, interfaces of other containers, and unused
    interfaces.
    """

    metrics = METRICS

    def open(self) -> None:
        try:
            self._dev = KernelFile(self.machine.proc / "net/dev")
        except OSError as error:
            raise NothingToCollectError(f"{error.filename} does not exist") from error
        self._content = b""
        self._last: dict[str, tuple[int, ...]] = {}
        if not _interfaces(self._dev.read()):
            self._dev.close()
            raise NothingToCollectError("no network interface except loopback")
        self._rates = DeviceRates(METRICS, tuple(self._counts()))
        self.series = self._rates.series

    def read(self, seconds: float) -> Sequence[float]:
        values = self._rates.per_second(seconds, self._counts())
        self.series = self._rates.series
        return values

    def close(self) -> None:
        self._dev.close()

    def _counts(self) -> dict[str, tuple[int, ...]]:
        content = self._dev.read()
        if content == self._content:  # no traffic
            return self._last
        self._content = content
        counts: dict[str, tuple[int, ...]] = {}
        for row in _interfaces(content):
            name, _, numbers = row.partition(b":")
            numbers_in_out = list(map(int, numbers.split()))
            bytes_in, packets_in, errors_in, drops_in = numbers_in_out[:4]
            bytes_out, packets_out, errors_out, drops_out = numbers_in_out[8:12]
            if packets_in or packets_out:
                counts[name.decode()] = (
                    *(bytes_in, bytes_out, packets_in, packets_out),
                    errors_in + errors_out,
                    drops_in + drops_out,
                )
        self._last = counts
        return counts


def _interfaces(content: bytes) -> list[bytes]:
    rows = map(bytes.lstrip, content.splitlines()[2:])
    return [row for row in rows if not row.startswith(_EXCLUDED)]
