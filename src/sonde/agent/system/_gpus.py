"""Metrics of GPUs of all vendors."""

from sonde.agent.system._collector import UNKNOWN
from sonde.records.metric import MetricInfo

UTILIZATION = MetricInfo(
    "gpu.utilization_percent", "percent", "share of time in which a kernel was running"
)
MEMORY_CONTROLLER = MetricInfo(
    "gpu.memory_controller_percent", "percent", "share of time in which memory was accessed"
)
MEMORY_USED = MetricInfo("gpu.memory_used_bytes", "bytes", "memory used by all processes")
MEMORY_TOTAL = MetricInfo("gpu.memory_total_bytes", "bytes", "total memory of the GPU")
MEMORY_PERCENT = MetricInfo(
    "gpu.memory_used_percent", "percent", "memory used, as a share of the total"
)
MEMORY = (MEMORY_USED, MEMORY_TOTAL, MEMORY_PERCENT)
JOB_MEMORY = MetricInfo("gpu.job_memory_bytes", "bytes", "memory used by the job's processes")
PROCESS_MEMORY = MetricInfo(
    "gpu.process_memory_bytes", "bytes", "memory used by a process of the job"
)
OTHERS_MEMORY = MetricInfo(
    "gpu.others_memory_bytes", "bytes", "memory used by processes that do not belong to the job"
)
OTHERS_UTILIZATION = MetricInfo(
    "gpu.others_utilization_percent",
    "percent",
    "compute units used by processes that do not belong to the job",
)
POWER = MetricInfo("gpu.power_watts", "watts", "power draw")
POWER_LIMIT = MetricInfo("gpu.power_limit_watts", "watts", "power limit")
TEMPERATURE = MetricInfo("gpu.temperature_celsius", "celsius", "GPU temperature")
SM_CLOCK = MetricInfo("gpu.sm_clock_mhz", "mhz", "clock frequency of the compute units")
MEMORY_CLOCK = MetricInfo("gpu.memory_clock_mhz", "mhz", "clock frequency of the memory")
THROTTLED = (
    MetricInfo(
        "gpu.throttled_thermal", "", "1 while clocks are throttled due to temperature, else 0"
    ),
    MetricInfo("gpu.throttled_power", "", "1 while clocks are throttled due to power, else 0"),
    MetricInfo("gpu.throttled_hardware", "", "1 during a hardware slowdown, else 0"),
)
ECC_ERRORS = (
    MetricInfo(
        "gpu.ecc_uncorrected_errors", "", "uncorrectable memory errors since the driver was loaded"
    ),
    MetricInfo(
        "gpu.ecc_corrected_errors", "", "corrected memory errors since the driver was loaded"
    ),
)
PCIE = (
    MetricInfo(
        "gpu.pcie_transmit_bytes_per_second",
        "bytes_per_second",
        "PCIe traffic from the GPU to the host",
    ),
    MetricInfo(
        "gpu.pcie_receive_bytes_per_second",
        "bytes_per_second",
        "PCIe traffic from the host to the GPU",
    ),
)
PCIE_REPLAYS = MetricInfo(
    "gpu.pcie_replays_per_second",
    "per_second",
    "PCIe packets sent more than once; many indicate a bad link",
)
NVLINK = (
    MetricInfo(
        "gpu.nvlink_transmit_bytes_per_second", "bytes_per_second", "NVLink traffic to other GPUs"
    ),
    MetricInfo(
        "gpu.nvlink_receive_bytes_per_second", "bytes_per_second", "NVLink traffic from other GPUs"
    ),
)


def memory(used: float, total: float) -> tuple[float, float, float]:
    """The values of MEMORY."""
    return used, total, 100 * used / total if total else UNKNOWN
