"""What is measured on a GPU, whoever made it."""

from sonde.agent.system._collector import UNKNOWN
from sonde.records.metric import MetricInfo

UTILIZATION = MetricInfo("gpu.utilization_percent", "percent", "time in which a kernel ran")
MEMORY_CONTROLLER = MetricInfo(
    "gpu.memory_controller_percent", "percent", "time in which memory was read or written"
)
MEMORY_USED = MetricInfo("gpu.memory_used_bytes", "bytes", "memory taken, by whomever")
MEMORY_TOTAL = MetricInfo("gpu.memory_total_bytes", "bytes", "all memory of the GPU")
MEMORY_PERCENT = MetricInfo("gpu.memory_used_percent", "percent", "memory taken, of all")
MEMORY = (MEMORY_USED, MEMORY_TOTAL, MEMORY_PERCENT)
JOB_MEMORY = MetricInfo("gpu.job_memory_bytes", "bytes", "memory taken by the job's processes")
PROCESS_MEMORY = MetricInfo(
    "gpu.process_memory_bytes", "bytes", "memory taken by one of the job's processes"
)
POWER = MetricInfo("gpu.power_watts", "watts", "power drawn")
POWER_LIMIT = MetricInfo("gpu.power_limit_watts", "watts", "power it may draw")
TEMPERATURE = MetricInfo("gpu.temperature_celsius", "celsius", "temperature of the chip")
SM_CLOCK = MetricInfo("gpu.sm_clock_mhz", "mhz", "clock of the compute units")
MEMORY_CLOCK = MetricInfo("gpu.memory_clock_mhz", "mhz", "clock of the memory")
THROTTLED = (
    MetricInfo("gpu.throttled_thermal", "", "1 while heat holds the clocks down, else 0"),
    MetricInfo("gpu.throttled_power", "", "1 while the power limit holds the clocks down, else 0"),
    MetricInfo("gpu.throttled_hardware", "", "1 while the hardware protects itself, else 0"),
)
ECC_ERRORS = (
    MetricInfo("gpu.ecc_uncorrected_errors", "", "memory errors beyond repair since its start"),
    MetricInfo("gpu.ecc_corrected_errors", "", "memory errors repaired since its start"),
)
PCIE = (
    MetricInfo(
        "gpu.pcie_transmit_bytes_per_second", "bytes_per_second", "from the GPU to the host"
    ),
    MetricInfo("gpu.pcie_receive_bytes_per_second", "bytes_per_second", "from the host to the GPU"),
)
PCIE_REPLAYS = MetricInfo(
    "gpu.pcie_replays_per_second", "per_second", "PCIe packets sent again: a bad link"
)
NVLINK = (
    MetricInfo("gpu.nvlink_transmit_bytes_per_second", "bytes_per_second", "to other GPUs"),
    MetricInfo("gpu.nvlink_receive_bytes_per_second", "bytes_per_second", "from other GPUs"),
)


def memory(used: float, total: float) -> tuple[float, float, float]:
    """The values of MEMORY."""
    return used, total, 100 * used / total if total else UNKNOWN
