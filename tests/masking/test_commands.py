"""Secrets in command lines and texts are masked; other words are kept."""

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.masking import MASK, mask_command, mask_environment, mask_text

SECRET_NAMES = (
    *("password", "PASSWORD", "db_password", "passwd", "passphrase", "secret", "client-secret"),
    *(
        "token",
        "hf-token",
        "HF_TOKEN",
        "auth_token",
        "api-key",
        "apikey",
        "API_KEY",
        "openai_api_key",
    ),
    *("access-key", "AWS_SECRET_ACCESS_KEY", "private_key", "key", "ssh-key", "credential"),
    *("credentials", "auth", "pat", "GH_PAT", "dsn", "SENTRY_DSN", "cookie", "session-cookie"),
    *("authorization", "connection_string", "jwt", "db.password", "wandb.api_key", "dbPassword"),
    *("MYPASS", "SSHPASS", "PGPASS", "dbPass", "pass", "DB_PASS", "MYPASSWD", "GPGPASSPHRASE"),
    *("FIREWALLPASS", "SMTP_COM_PASS"),
)
HARMLESS_NAMES = (
    *("max-tokens", "max_new_tokens", "num-tokens", "tokens_per_batch", "train-tokens", "lr", "LR"),
    *("TOKENIZERS_PARALLELISM", "tokenizer", "tokenizer-path", "pad_token_id", "epochs", "seed"),
    *("monkey", "keyboard", "compass", "bypass", "keep", "author", "pattern", "update", "padding"),
    *("BYPASS", "proxy_bypass", "encompass", "overpass", "low-pass", "bandpass", "two_pass"),
    *("SSH_AUTH_SOCK", "XDG_SESSION_ID", "tensor-parallel-size", "hotkeys", "patience", "passes"),
)

plain_secrets = st.text(
    string.ascii_letters + string.digits + "!#%*_.,;&=", min_size=6, max_size=40
)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_the_value_of_a_secret_option_is_masked(name: str) -> None:
    assert mask_command(["x", f"--{name}", "s3cr3t", "rest"]) == ("x", f"--{name}", MASK, "rest")
    assert mask_command(["x", f"--{name}=s3cr3t"]) == ("x", f"--{name}={MASK}")
    assert mask_command(["env", f"{name}=s3cr3t"]) == ("env", f"{name}={MASK}")
    assert "s3cr3t" not in str(mask_environment({name: "s3cr3t"}))
    assert "s3cr3t" not in mask_text(f"raise ValueError: {name}=s3cr3t and more")


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_other_options_are_kept(name: str) -> None:
    words = ("x", f"--{name}", "512", f"--{name}=0.1", f"{name}=a/b", "rest")
    assert mask_command(words) == words
    assert mask_text(" ".join(words)) == " ".join(words)


@pytest.mark.parametrize(
    "word",
    [
        *("--max-tokens", "LR=0.1", "lr=3e-4", "/data/imagenet/train", "s3://bucket/prefix/part"),
        *("0f3a9c5e7b1d2468ace013579bdf02468ace0135", "model.layers.0.self_attn.q_proj.weight"),
        *("123e4567-e89b-12d3-a456-426614174000", "llama-7b-lora-r16-alpha32-lr3e-4-bs128-seed42"),
        *("mask-rcnn-resnet50-fpn-coco-pretrained", "meta-llama/Llama-3.1-70B-Instruct"),
        *(
            "disk-usage-monitoring-2024-08",
            "http://localhost:8000/path@v1",
            "git@github.com:a/b.git",
        ),
        *("ssh://git@github.com/a/b.git", "https://example.org:8443/x?page=2&size=10", "12:30:45"),
        *("['a', 'b']", "print('hello, world')", "2026-11-15T08:00:00.123456Z", "--flag", "-v", ""),
        *("https://x.org/webhooks", "https://x.org/services/Training/a", "data/webhooks/a.json"),
        *("--user=1000:1000", "docker run -u 0:0 image", "python -u x.py", "--user-agent=a:b"),
        *("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1", "import torch; print(torch.__version__)"),
    ],
)
def test_ordinary_words_are_kept(word: str) -> None:
    assert mask_command(["x", word]) == ("x", word)


@pytest.mark.parametrize(
    "secret",
    [
        *("sk-proj-Aa1Bb2Cc3Dd4Ee5Ff6", "hf_AbCdEfGhIjKlMnOpQr", "AKIAIOSFODNN7EXAMPLE"),
        *("ghp_abcdefghijklmnopqrstuvwxyz012345", "github_pat_11ABCDEFG0abcdefghijk_xyz"),
        *("glpat-abcdefghij0123456789", "xoxb-123456789012-abcdef", "AIza" + "Sy0" * 12),
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY0",
    ],
)
def test_tokens_of_known_formats_are_masked_anywhere(secret: str) -> None:
    for text in (secret, f"echo {secret} now", f"'{secret}'", f"--note={secret}", f"x:{secret}"):
        assert secret not in mask_command(["x", text])[1]
    assert secret not in mask_environment({"SONDE_NOTE": f"see {secret}"})["SONDE_NOTE"]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgres://user:pa55@host/db", f"postgres://user:{MASK}@host/db"),
        ("postgres://user:p@ss@host/db", f"postgres://user:{MASK}@host/db"),
        ("redis://:pa55@host:6379/0", f"redis://:{MASK}@host:6379/0"),
        ("https://0123456789abcdef0@github.com/a", f"https://{MASK}@github.com/a"),
        ("https://h/x?token=pa55&page=2", f"https://h/x?token={MASK}&page=2"),
        ("export API_KEY=pa55; python x", f"export API_KEY={MASK}; python x"),
        ('export PASSWORD="two words" && run', f"export PASSWORD={MASK} && run"),
        ('{"api_key": "pa55", "lr": 0.1}', f'{{"api_key": {MASK}, "lr": 0.1}}'),
        ("Authorization: Bearer pa55word", f"Authorization: {MASK}"),
        ("X-Api-Key: pa55", f"X-Api-Key: {MASK}"),
        ("+db.password=pa55", f"+db.password={MASK}"),
        ("--opts=lr=0.1,token=pa55", f"--opts=lr=0.1,token={MASK}"),
        ("--set=token=pa55", f"--set=token={MASK}"),
        (
            "https://hooks.slack.com/services/T0AB/B0CD/xyz",
            f"https://hooks.slack.com/services/{MASK}",
        ),
        ("hooks.slack.com/services/T0AB/B0CD/xyz", f"hooks.slack.com/services/{MASK}"),
        ("https://discord.com/api/webhooks/12/ab-c", f"https://discord.com/api/webhooks/{MASK}"),
        (
            "url='https://outlook.office.com/webhook/1@2/In/3' x",
            f"url='https://outlook.office.com/webhook/{MASK}' x",
        ),
        ("--to=https://x.org/a/webhooks/ab?c=1; ls", f"--to=https://x.org/a/webhooks/{MASK}; ls"),
        ("https://x.org/webhook/ab", f"https://x.org/webhook/{MASK}"),
        ("https://x.org/services/T0ABCDEF/B1/x", f"https://x.org/services/{MASK}"),
        ("curl -u me:pa55 https://h/x", f"curl -u me:{MASK} https://h/x"),
        ("curl -u 'me:two words' h", f"curl -u 'me:{MASK}' h"),
        ("-ume:pa55", f"-ume:{MASK}"),
        ("--user=me:pa55", f"--user=me:{MASK}"),
        ("--proxy-user=me:pa:55", f"--proxy-user=me:{MASK}"),
    ],
)
def test_only_secrets_inside_a_text_are_masked(text: str, masked: str) -> None:
    assert mask_command(["x", text]) == ("x", masked)


@pytest.mark.parametrize("option", ["-u", "-U", "--user", "--proxy-user"])
def test_the_password_of_a_login_is_masked(option: str) -> None:
    assert mask_command(["curl", option, "me:pa 55", "h"]) == ("curl", option, f"me:{MASK}", "h")
    assert mask_command(["curl", f"{option}=me:pa 55"]) == ("curl", f"{option}=me:{MASK}")
    for value in ("me", "1000:1000", "https://h/x", "train.py", "-m"):
        words = ("x", option, value, "a:b")
        assert mask_command(words) == words


def test_an_option_after_a_secret_flag_is_an_option() -> None:
    words = ("x", "--use-auth-token", "--lr", "0.1")
    assert mask_command(words) == words


def test_invalid_bytes_become_printable() -> None:
    assert mask_command(["x", "a\udcffb"]) == ("x", "a\ufffdb")


@given(st.sampled_from(SECRET_NAMES), plain_secrets)
def test_any_value_of_a_secret_name_is_masked(name: str, secret: str) -> None:
    for words in (["x", f"--{name}={secret}"], ["env", f"{name}={secret}"]):
        assert mask_command(words)[1].endswith(f"={MASK}")


@given(st.binary(min_size=30, max_size=64))
def test_random_base64_is_masked(data: bytes) -> None:
    word = base64.b64encode(data).decode().replace("/", "_").replace("+", "-")
    masked = mask_command(["x", word])[1]
    is_varied = len(set(word)) >= 24 and any(c.isdigit() for c in word)
    has_long_segment = max(map(len, word.rstrip("=").replace("-", "_").split("_"))) >= 12
    if is_varied and has_long_segment:
        assert masked == MASK


@given(st.lists(st.text(max_size=30), max_size=6))
def test_masking_keeps_the_number_of_words_and_is_idempotent(words: list[str]) -> None:
    masked = mask_command(words)
    assert len(masked) == len(words)
    assert mask_command(masked) == masked


def test_a_long_class_path_is_kept() -> None:
    path = ":".join(f"/opt/jars/number{n}.jar" for n in range(5000))
    assert mask_command(["java", "-cp", path])[2] == path


@pytest.mark.parametrize(
    "words",
    [
        ["login", "--password", "-hunter2"],
        ["upload", "https://store.example/x?sig=hunter2&v=1"],
        ["run", "--creds=hunter2"],
        ["run", "PW=hunter2"],
        ["run", "a=token=hunter2"],
    ],
)
def test_secrets_in_unusual_places_are_masked(words: list[str]) -> None:
    assert "hunter2" not in " ".join(mask_command(words))


@pytest.mark.parametrize(
    "words",
    [
        ["mysql", "-u", "root", "-phunter", "db"],
        ["/usr/bin/mysqldump", "-p", "hunter"],
        ["sshpass", "-p", "hunter", "ssh", "box"],
        ["docker", "login", "-u", "me", "-p", "hunter", "registry"],
        ["train.py", "-p", "hunter2"],
        ["train.py", "-phunter2"],
        ["train.py", "-p", "hunter!"],
    ],
)
def test_the_password_after_p_is_masked(words: list[str]) -> None:
    masked = " ".join(mask_command(words))
    assert "hunter" not in masked
    assert MASK in masked


@pytest.mark.parametrize(
    "words",
    [
        ("mkdir", "-p", "runs/exp1"),
        ("ssh", "-p", "2222", "box"),
        ("gcc", "-pthread", "-p"),
        ("docker", "run", "-p", "8080:80", "-p8080:80", "image"),
        ("train.py", "-p", "bf16", "-p8", "--lr", "1e-4"),
        ("patch", "-p1"),
    ],
)
def test_ports_paths_and_patch_levels_after_p_are_kept(words: tuple[str, ...]) -> None:
    assert mask_command(words) == words


def test_values_of_key_variables_in_upper_case_are_masked() -> None:
    for name in ("KEY1", "MYKEY", "SSH_KEY_DATA", "HF_TOKENS", "SSHKEY2", "STORAGE_KEYS"):
        assert mask_command([f"{name}=hunter2"]) == (f"{name}={MASK}",)
        assert mask_command([f"{name}=abc,def"]) == (f"{name}={MASK}",)
    for word in ("train_tokens=512", "MONKEY=abc", "sort_keys=yes", "hotkey=a"):
        assert mask_command([word]) == (word,)
