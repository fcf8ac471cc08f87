"""Traffic of the network interfaces."""

from collections.abc import Sequence

from sonde.agent.system._collector import Collector
from sonde.agent.system._counters import DeviceRates, KernelFile
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo

METRICS = (
    MetricInfo("network.receive_bytes_per_second", "bytes_per_second", "bytes that came in"),
    MetricInfo("network.transmit_bytes_per_second", "bytes_per_second", "bytes that went out"),
    MetricInfo("network.receive_packets_per_second", "per_second", "packets that came in"),
    MetricInfo("network.transmit_packets_per_second", "per_second", "packets that went out"),
    MetricInfo("network.errors_per_second", "per_second", "broken packets, in and out"),
    MetricInfo("network.drops_per_second", "per_second", "packets thrown away, in and out"),
)
# The node's ends of other containers' links: they come and go with those containers, and their
# packets pass a real interface too
_OF_OTHERS = (b"lo:", b"veth", b"cali")


class Network(Collector):
    """Traffic of the network interfaces: bytes, packets, errors and drops per second.

    Needs /proc/net/dev. Left out: loopback, links to other containers, and interfaces without a
    single packet so far.
    """

    metrics = METRICS

    def open(self) -> None:
        try:
            self._dev = KernelFile(self.machine.proc / "net/dev")
        except OSError as error:
            raise NothingToCollectError(f"no {error.filename}") from error
        self._content = b""
        self._last: dict[str, tuple[int, ...]] = {}
        if not _interfaces(self._dev.read()):
            self._dev.close()
            raise NothingToCollectError("no network interface but loopback")
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
        if content == self._content:  # a quiet network has nothing to parse
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
    return [row for row in rows if not row.startswith(_OF_OTHERS)]
