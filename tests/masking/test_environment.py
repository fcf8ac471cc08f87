"""Recorded environment variables: values from an allowlist, only the names of others."""

import pytest

from sonde.masking import MASK, mask_environment

RECORDED = {
    "CUDA_VISIBLE_DEVICES": "0,1",
    "NCCL_DEBUG": "INFO",
    "OMP_NUM_THREADS": "8",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
    "SLURM_JOB_ID": "4711",
    "SLURM_PROCID": "3",
    "SLURM_JOB_NODELIST": "gpu[1-4]",
    "RANK": "3",
    "WORLD_SIZE": "8",
    "MASTER_ADDR": "10.0.0.1",
    "PATH": "/usr/bin:/bin",
    "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
    "PYTHONPATH": "/home/me/src",
    "LANG": "C.UTF-8",
    "PWD": "/home/me/pass",
    "HF_HOME": "/data/hf",
    "TOKENIZERS_PARALLELISM": "false",
    "SONDE_STORE": "s3://bucket/team",
}


@pytest.mark.parametrize("name", RECORDED)
def test_variables_that_describe_the_setup_are_recorded(name: str) -> None:
    assert mask_environment({name: RECORDED[name]}) == {name: RECORDED[name]}


@pytest.mark.parametrize(
    "name",
    [
        *("SSH_KEY_DATA", "KEY1", "MYKEY", "HF_TOKENS", "HF_TOKEN", "SERVICE_URL", "EMAIL"),
        *("AZURE_STORAGE_CONNECTION_STRING", "OLDPWD", "SSH_CLIENT", "ANYTHING", "http_proxy"),
        *("SLURM_JWT", "TORCH_API_KEY", "SONDE_PASSWORD", "NCCL_SECRET"),
    ],
)
def test_values_of_other_variables_are_masked(name: str) -> None:
    assert mask_environment({name: "plain words"}) == {name: MASK}


def test_secrets_in_recorded_values_are_masked() -> None:
    store = "s3://" + "user:" + "hunter2" + "@bucket"
    assert mask_environment({"SONDE_STORE": store}) == {"SONDE_STORE": f"s3://user:{MASK}@bucket"}


@pytest.mark.parametrize(
    "name", ["BASH_FUNC_x%%", "A\udcff", "", "a b", "ghp_" + "Ab1Cd2Ef3" * 4, "X" * 200]
)
def test_variables_with_unusual_names_are_omitted(name: str) -> None:
    assert mask_environment({name: "x", "RANK": "0"}) == {"RANK": "0"}


def test_empty_values_stay_empty() -> None:
    assert mask_environment({"HF_TOKEN": "", "RANK": ""}) == {"HF_TOKEN": "", "RANK": ""}


def test_variables_are_sorted_printable_and_limited_in_length() -> None:
    masked = mask_environment({"RANK": "\udcfe", "PATH": "/bin:" * 10_000, "LANG": "C"})
    assert list(masked) == ["LANG", "PATH", "RANK"]
    assert masked["RANK"] == "\ufffd"
    assert len(masked["PATH"]) < 10_000
