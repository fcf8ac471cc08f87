"""A synthetic day of a training machine: 32 cores, 8 GPUs, 120 series, a sample every 500 ms.

Properties of the data, and their sources:

- The day consists of jobs of one to five hours with pauses of up to 40 minutes. A job trains,
  sometimes evaluates, saves, and waits for its data loader.
- Samples are on a grid of 500 ms, usually late by 0.1 ms and sometimes by several ms, as recorded
  on the benchmark machine.
- The kernel counts CPU time in ticks of 10 ms. So the utilization of a core over 500 ms is an
  integer number of ticks out of 48 to 52 (recorded on an idle and on a busy machine). Eight cores
  drive the GPUs and are busy, sixteen load data and vary, eight are mostly idle.
- GPUs report integer percent and degrees, clock steps of 15 MHz and milliwatts, and their memory
  rarely changes during training. Spread and autocorrelation of power and temperature are those of
  the H200 recording in tests/golden/h200: power changes at every sample, so its digits are noise.
- Memory is counted in pages. Page cache and dirty pages change while data is read, swap never does.
- Rates (disk, network, process I/O) are counters divided by the time between two samples: every
  digit is noise if there is traffic, otherwise they are 0.
- Load averages change every 5 seconds. Open files are counted every 5 seconds (missing in between).
  Totals and limits are constant.

No property was chosen to make the files small.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.records.metric import MetricInfo, Series

INTERVAL_NS = 500_000_000
DAY_TICKS = 172_800
CORES, GPUS = 32, 8
_PAGE = 4096
_IDLE, _TRAIN, _EVALUATE, _SAVE, _STARVED = range(5)
_START_NS = 1_790_000_000_000_000_000

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Day:
    """Timestamps, series, and values as (series, sample)."""

    times_ns: npt.NDArray[np.int64]
    series: tuple[Series, ...]
    values: npt.NDArray[np.float32]


def make_day(seed: int = 1, ticks: int = DAY_TICKS) -> Day:
    """Generate a day, deterministic for a seed."""
    random = np.random.default_rng(seed)
    late_ns = random.exponential(100_000, ticks) + 5e6 * (random.random(ticks) < 0.02)
    times = _START_NS + np.arange(ticks) * INTERVAL_NS + late_ns.astype(np.int64)
    elapsed = np.diff(times, prepend=times[0] - INTERVAL_NS) / 1e9
    state = _states(random, ticks)
    columns: dict[tuple[str, str], Array] = {}
    _processors(random, state, columns)
    for gpu in range(GPUS):
        _gpu(random, state, f"gpu{gpu}", columns)
    _memory(random, state, columns)
    _traffic(random, state, elapsed, columns)
    _job(random, state, elapsed, columns)
    series = tuple(Series(MetricInfo(name, "", ""), device) for name, device in columns)
    values = np.stack(list(columns.values())).astype(np.float32)
    return Day(times, series, values)


def _states(random: np.random.Generator, ticks: int) -> npt.NDArray[np.int64]:
    state = np.zeros(ticks, dtype=np.int64)
    now = 0
    while now < ticks:
        now += int(random.uniform(60, 2400) * 2)
        end = now + int(random.uniform(3600, 18_000) * 2)
        state[now:end] = _TRAIN
        for first in range(now + 3600, min(end, ticks), 3600):  # twice an hour
            state[first : first + 240] = _EVALUATE
            state[first + 240 : first + 280] = _SAVE
        if random.random() < 0.3:
            first = int(random.uniform(now, end))
            state[first : first + 1200] = _STARVED
        now = end
    return state


def _wander(random: np.random.Generator, ticks: int, memory: float, spread: float) -> Array:
    """Return autocorrelated noise: each value is `memory` times the last one plus a new one."""
    new = random.normal(0, spread * np.sqrt(1 - memory**2), ticks)
    kernel = memory ** np.arange(min(ticks, int(6 / (1 - memory)) + 1))
    size = 1 << (ticks + len(kernel)).bit_length()
    product = np.fft.rfft(new, size) * np.fft.rfft(kernel, size)
    return np.asarray(np.fft.irfft(product, size)[:ticks])


def _by_state(state: npt.NDArray[np.int64], *levels: float) -> Array:
    return np.asarray(levels)[state]


def _processors(
    random: np.random.Generator,
    state: npt.NDArray[np.int64],
    columns: dict[tuple[str, str], Array],
) -> None:
    ticks = len(state)
    busy_sum, total_ticks = np.zeros(ticks), np.zeros(ticks)
    cores = []
    for core in range(CORES):
        if core < GPUS:
            share = _by_state(state, 0.004, 0.97, 0.9, 0.4, 0.3)
        elif core < 3 * GPUS:
            share = _by_state(state, 0.004, 0.35, 0.5, 0.05, 0.9)
        else:
            share = _by_state(state, 0.004, 0.03, 0.03, 0.08, 0.03)
        swing = share * (1 + _wander(random, ticks, 0.95, 0.15))
        core_ticks = 50 + random.choice((-2, -1, 0, 1, 2), ticks, p=(0.02, 0.2, 0.52, 0.22, 0.04))
        busy = np.minimum(random.binomial(50, np.clip(swing, 0, 1)), core_ticks)
        cores.append(100 * busy / core_ticks)
        busy_sum += busy
        total_ticks += core_ticks
    system = random.binomial(busy_sum.astype(np.int64), 0.12)
    waiting = random.binomial((total_ticks - busy_sum).astype(np.int64), 0.0005)
    modes: tuple[tuple[str, Array], ...] = (
        ("utilization", busy_sum),
        ("user", busy_sum - system),
        ("system", system.astype(np.float64)),
        ("iowait", waiting.astype(np.float64)),
        ("steal", np.zeros(ticks)),
        ("idle", total_ticks - busy_sum - waiting),
    )
    for name, mode_ticks in modes:
        columns[f"cpu.{name}_percent", ""] = 100 * mode_ticks / total_ticks
    load = _by_state(state, 0.2, 14, 16, 5, 18) + _wander(random, ticks, 0.995, 0.4)
    shown: Array = np.repeat(load[::10], 10)[:ticks]
    columns["cpu.load_1m", ""] = np.abs(shown).round(2)
    running = random.poisson(_by_state(state, 0.2, 14, 16, 5, 18)) + 1
    columns["cpu.running_threads", ""] = running.astype(np.float64)
    for core, values in enumerate(cores):
        columns["cpu.utilization_percent", f"cpu{core}"] = values


def _gpu(
    random: np.random.Generator,
    state: npt.NDArray[np.int64],
    device: str,
    columns: dict[tuple[str, str], Array],
) -> None:
    ticks = len(state)
    waits = (random.random(ticks) < 0.78) & (state == _STARVED)
    pauses = random.random(ticks) < _by_state(state, 0, 0.01, 0.15, 0, 0)
    utilization = _by_state(state, 0, 100, 100, 0, 100) * ~waits
    utilization = np.where(pauses, random.integers(40, 100, ticks), utilization)
    drop = random.choice((0, 0, 0, 0, 1, 2), ticks) * (utilization == 100) * (state != _IDLE)
    utilization = utilization - drop * (random.random(ticks) < 0.3)
    controller = np.round(0.58 * utilization + (utilization > 0) * _wander(random, ticks, 0.9, 0.6))
    steady = 80 + 5.75 * np.convolve(utilization, np.full(4, 0.25))[:ticks]
    power = steady + _wander(random, ticks, 0.6, 1) * np.where(utilization > 0, 9, 0.4)
    heat = 34 + 0.032 * np.convolve(power, np.full(60, 1 / 60))[:ticks]
    temperature = np.round(heat + _wander(random, ticks, 0.95, 0.35))
    clock = np.where(state == _IDLE, 345, 1980) - 15 * (random.random(ticks) < 0.08) * (
        utilization > 90
    )
    held = np.repeat(random.choice((0, 0, 0, 1, 2), ticks // 600 + 1), 600)[:ticks]
    memory = _by_state(state, 0.6e9, 71e9, 73e9, 71e9, 71e9) // (1 << 21) + held * (state != _IDLE)
    for name, values in (
        ("utilization_percent", utilization),
        ("memory_controller_percent", controller),
        ("memory_used_bytes", memory * (1 << 21)),
        ("power_watts", np.round(power, 3)),
        ("temperature_celsius", temperature),
        ("sm_clock_mhz", clock),
        ("throttled_power", ((power > 690) & (state != _IDLE)).astype(np.float64)),
    ):
        columns[f"gpu.{name}", device] = values.astype(np.float64)


def _memory(
    random: np.random.Generator,
    state: npt.NDArray[np.int64],
    columns: dict[tuple[str, str], Array],
) -> None:
    ticks = len(state)
    total = 524_288_000  # pages of 2 TB

    def pages(level: Array, moves: Array, spread: float) -> Array:
        """Return a level plus a random walk in pages that pauses while nothing changes."""
        steps = np.round(random.normal(0, spread, ticks)) * (random.random(ticks) < moves)
        walk = np.cumsum(steps)
        return np.abs(np.floor(level + walk - np.linspace(0, walk[-1], ticks).round()))

    moving = _by_state(state, 0.3, 1, 1, 1, 1)
    used = pages(_by_state(state, 3e6, 60e6, 62e6, 60e6, 60e6), moving, 300)
    cached = pages(np.full(ticks, 150e6), _by_state(state, 0.05, 1, 1, 1, 1), 800)
    dirty = np.floor(random.gamma(2, _by_state(state, 3, 60, 60, 90_000, 60)))
    shared = pages(
        _by_state(state, 2e4, 4e6, 4e6, 4e6, 4e6), _by_state(state, 0, 0.6, 0.6, 0, 1), 64
    )
    columns["memory.used_percent", ""] = 100 * used / total
    for name, values in (("used", used), ("cached", cached), ("dirty", dirty), ("shared", shared)):
        columns[f"memory.{name}_bytes", ""] = values * _PAGE
    columns["memory.total_bytes", ""] = np.full(ticks, float(total * _PAGE))
    columns["swap.used_bytes", ""] = np.zeros(ticks)
    columns["swap.total_bytes", ""] = np.full(ticks, 8.0 * (1 << 30))


def _traffic(
    random: np.random.Generator,
    state: npt.NDArray[np.int64],
    elapsed: Array,
    columns: dict[tuple[str, str], Array],
) -> None:
    reads = random.poisson(_by_state(state, 0.02, 160, 200, 5, 300))
    writes = random.poisson(_by_state(state, 1.5, 4, 4, 900, 4)) * (random.random(len(state)) < 0.6)
    columns["disk.read_bytes_per_second", "nvme0n1"] = reads * 131_072 / elapsed
    columns["disk.write_bytes_per_second", "nvme0n1"] = writes * 24_576 / elapsed
    columns["disk.reads_per_second", "nvme0n1"] = reads / elapsed
    columns["disk.writes_per_second", "nvme0n1"] = writes / elapsed
    busy_ms = np.minimum(500, np.round(0.4 * reads + 0.5 * writes))
    columns["disk.busy_percent", "nvme0n1"] = busy_ms / elapsed / 10
    received = random.poisson(_by_state(state, 3, 40, 40, 40, 40))
    sent = random.poisson(_by_state(state, 2, 35, 35, 35, 35))
    for name, packets, size in (("receive", received, 220), ("transmit", sent, 180)):
        sizes = packets * size + random.integers(0, 64, len(state)) * (packets > 0)
        columns[f"network.{name}_bytes_per_second", "eth0"] = sizes / elapsed
        columns[f"network.{name}_packets_per_second", "eth0"] = packets / elapsed


def _job(
    random: np.random.Generator,
    state: npt.NDArray[np.int64],
    elapsed: Array,
    columns: dict[tuple[str, str], Array],
) -> None:
    ticks = len(state)
    is_job = state != _IDLE
    cpu_ticks = random.poisson(_by_state(state, 0, 680, 760, 210, 840))
    rss = np.cumsum(random.integers(-40, 44, ticks) * (random.random(ticks) < 0.4) * is_job)
    files = np.full(ticks, np.nan)
    files[::10] = np.where(is_job, 1450 + random.integers(0, 9, ticks), 12)[::10]
    for name, values in (
        ("processes", np.where(is_job, 41.0, 1.0)),
        ("threads", np.where(is_job, 1210.0, 1.0)),
        ("cpu_percent", cpu_ticks / elapsed),
        ("rss_bytes", (np.where(is_job, 6e7 // 4, 4e3) + np.abs(rss)) * _PAGE),
        ("read_bytes_per_second", columns["disk.read_bytes_per_second", "nvme0n1"] * 0.98),
        ("write_bytes_per_second", columns["disk.write_bytes_per_second", "nvme0n1"] * is_job),
        ("open_files", files),
    ):
        columns[f"process_tree.{name}", ""] = np.asarray(values, dtype=np.float64)
