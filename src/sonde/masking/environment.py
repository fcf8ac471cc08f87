"""Mask environment variables: record values from an allowlist, and only the names of others."""

import re
from collections.abc import Mapping

from sonde.masking.names import is_secret_name
from sonde.masking.text import MASK, mask_text, readable

# variables that describe the setup of a job: devices, libraries, ranks, paths, language
_RECORDED = re.compile(
    r"(?:CUDA|CUDNN|CUBLAS|NCCL|RCCL|GLOO|UCX|NVTE|NVIDIA|HIP|HSA|ROCR|MIOPEN|XLA|JAX|TF|TPU"
    r"|OMP|KMP|GOMP|MKL|OPENBLAS|BLIS|NUMEXPR|MALLOC|PYTORCH|TORCH|TORCHELASTIC|TORCHINDUCTOR"
    r"|TORCHDYNAMO|TRITON|PET|ACCELERATE|FSDP|DS|DEEPSPEED|TRANSFORMERS|TOKENIZERS|DATASETS"
    r"|OMPI_COMM_WORLD|PMI|PMIX|LC|SONDE)_\w+"
    r"|SLURM_(?:\w*ID|\w*NODELIST|N\w+|JOB_(?:NAME|PARTITION|NUM_NODES|CPUS_PER_NODE)|\w+_PER_\w+"
    r"|GPUS\w*|ARRAY_TASK_\w+|RESTART_COUNT|STEP_\w+|TASKS_PER_NODE|LOCALID|CLUSTER_NAME)"
    r"|PYTHON[A-Z]+|(?:LOCAL_|GROUP_|NODE_|ROLE_)?RANK|(?:LOCAL_|ROLE_)?WORLD_SIZE"
    r"|MASTER_ADDR|MASTER_PORT|MPI_LOCALRANKID"
    r"|PATH|LD_LIBRARY_PATH|LD_PRELOAD|DYLD_LIBRARY_PATH|VIRTUAL_ENV|CONDA_PREFIX"
    r"|CONDA_DEFAULT_ENV|HF_(?:HOME|HUB_OFFLINE|HUB_CACHE|DATASETS_CACHE|DATASETS_OFFLINE)"
    r"|WANDB_MODE|LANG|LANGUAGE|TZ|TMPDIR|TMP|TEMP|PWD|HOME|SHELL|TERM|HOSTNAME|CI"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,99}")
_WORKING_FOLDER = "PWD"  # the name means a password only as an option
_MAX_VALUE_LENGTH = 8192


def mask_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return all variables by name, with values only for those on the allowlist.

    Secrets in these values are masked, too. Unusual names are omitted: they may be secrets.
    """
    return {
        name: _mask_value(name, value)
        for name, value in sorted(variables.items())
        if _NAME.fullmatch(name) and mask_text(name) == name
    }


def _mask_value(name: str, value: str) -> str:
    if not value:
        return ""
    if not _RECORDED.fullmatch(name) or (name != _WORKING_FOLDER and is_secret_name(name)):
        return MASK
    return mask_text(readable(value)[:_MAX_VALUE_LENGTH])
