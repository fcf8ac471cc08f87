import math
from pathlib import Path

import pytest

from sonde.agent.system import Machine
from sonde.agent.system.network import Network
from sonde.errors import NothingToCollectError
from tests.fakes.machine import FakeMachine, named

_HEAD = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop …\n"


def _row(name: str, count: int = 1) -> str:
    inward = [count * factor for factor in (1000, 10, 3, 5, 0, 0, 0, 0)]
    outward = [count * factor for factor in (2000, 20, 1, 2, 0, 0, 0, 0)]
    return f"  {name}: {' '.join(map(str, inward + outward))}\n"


def _opened(fake: FakeMachine, *rows: str) -> Network:
    fake.write("proc/net/dev", _HEAD + "".join(rows))
    network = Network(fake.machine())
    network.open()
    return network


def test_counts_become_rates(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    network = _opened(fake, _row("eth0", 1))
    assert all(math.isnan(value) for value in network.read(0.0))
    fake.write("proc/net/dev", _HEAD + _row("eth0", 5))
    assert named(network, network.read(2.0)) == {
        "network.receive_bytes_per_second/eth0": 2000.0,
        "network.transmit_bytes_per_second/eth0": 4000.0,
        "network.receive_packets_per_second/eth0": 20.0,
        "network.transmit_packets_per_second/eth0": 40.0,
        "network.errors_per_second/eth0": 8.0,
        "network.drops_per_second/eth0": 14.0,
    }
    network.close()


def test_loopback_container_interfaces_and_unused_interfaces_are_excluded(
    tmp_path: Path,
) -> None:
    rows = (_row("lo"), _row("veth1a2b"), _row("cali77"), _row("docker0", 0), _row("ib0"))
    network = _opened(FakeMachine(tmp_path), *rows)
    assert {series.device for series in network.series} == {"ib0"}


def test_an_interface_appears_with_its_first_packet(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    network = _opened(fake, _row("eth0", 0))
    assert network.series == ()
    assert list(network.read(0.0)) == []
    fake.write("proc/net/dev", _HEAD + _row("eth0", 1))
    assert len(network.read(1.0)) == len(network.series) == 6


def test_collector_is_not_available_with_loopback_only(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    with pytest.raises(NothingToCollectError, match="net/dev"):
        Network(fake.machine()).open()
    with pytest.raises(NothingToCollectError, match="loopback"):
        _opened(fake, _row("lo"))


def test_this_machine_reports_interfaces_or_a_reason() -> None:
    network = Network(Machine())
    try:
        network.open()
    except NothingToCollectError:
        return
    assert len(network.read(0.0)) == len(network.series)
    network.close()
