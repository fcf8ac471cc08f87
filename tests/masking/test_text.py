"""Masking of any text. Test secrets are assembled at run time, so that no scanner reports them."""

import random
import string
import subprocess
import time
import traceback
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.masking import MASK, mask_text

ROOT = Path(__file__).parents[2]
LETTERS = string.ascii_letters + string.digits
MAX_LENGTH = 100_000  # of a recorded traceback
SECONDS = 2.0


def random_secret(prefix: str, length: int, alphabet: str = LETTERS, suffix: str = "") -> str:
    """Return a random secret of a known format."""
    numbers = random.Random(f"{prefix}{length}")
    return prefix + "".join(numbers.choices(alphabet, k=length)) + suffix


UPPER, HEX = string.ascii_uppercase + string.digits, "0123456789abcdef"
TOKENS = {
    "AWS access key": random_secret("AK" + "IA", 16, UPPER),
    "AWS temporary key": random_secret("AS" + "IA", 16, UPPER),
    "GitHub personal": random_secret("gh" + "p_", 36),
    "GitHub app": random_secret("gh" + "s_", 36),
    "GitHub fine-grained": random_secret("github" + "_pat_", 60),
    "GitLab personal": random_secret("gl" + "pat-", 20),
    "GitLab runner": random_secret("gl" + "rt-", 20),
    "Slack bot": random_secret("xo" + "xb-", 24),
    "Slack app": random_secret("xa" + "pp-1-", 30),
    "Stripe live": random_secret("sk" + "_live_", 24),
    "Stripe restricted": random_secret("rk" + "_test_", 24),
    "OpenAI": random_secret("sk" + "-", 48),
    "OpenAI project": random_secret("sk" + "-proj-", 60),
    "Anthropic": random_secret("sk" + "-ant-api03-", 80),
    "Hugging Face": random_secret("h" + "f_", 34),
    "Google API": random_secret("AI" + "za", 35),
    "Google OAuth": random_secret("ya" + "29.", 60),
    "Google client": random_secret("GOC" + "SPX-", 28),
    "NVIDIA": random_secret("nv" + "api-", 60),
    "Replicate": random_secret("r" + "8_", 37),
    "Groq": random_secret("gs" + "k_", 50),
    "npm": random_secret("np" + "m_", 36),
    "PyPI": random_secret("py" + "pi-AgEI", 80),
    "Docker Hub": random_secret("dck" + "r_pat_", 27),
    "DigitalOcean": random_secret("do" + "p_v1_", 64, HEX),
    "Databricks": random_secret("da" + "pi", 32, HEX),
    "SendGrid": random_secret("S" + "G.", 22) + random_secret(".", 43),
    "Twilio": random_secret("S" + "K", 32, HEX),
    "Mailgun": random_secret("ke" + "y-", 32, HEX),
    "Shopify": random_secret("shp" + "at_", 32, HEX),
    "Vault": random_secret("hv" + "s.", 90),
    "Atlassian": random_secret("ATA" + "TT3", 60),
    "Linear": random_secret("lin" + "_api_", 40),
    "Tailscale": random_secret("ts" + "key-auth-", 30),
    "Grafana": random_secret("gl" + "sa_", 40),
    "New Relic": random_secret("NR" + "AK-", 27, UPPER),
    "Azure client": random_secret("a1B" + "8Q~", 34),
    "Telegram": random_secret("123456789:" + "AA", 33),
    "JSON web token": ".".join(
        (random_secret("ey" + "J", 30), random_secret("ey" + "J", 40), random_secret("", 43))
    ),
    "Telegram in a URL": random_secret("bot123456789:" + "AA", 33),
    "Google refresh": random_secret("1/" + "/0", 60),
    "X bearer": "A" * 21 + random_secret("", 60) + "%3D" + random_secret("b", 20),
    "Mailchimp": random_secret("", 32, HEX, "-us" + "12"),
    "Mailgun sending": random_secret("", 32, HEX) + random_secret("-", 8, HEX, "-0a1b2c3d"),
    "Terraform Cloud": random_secret("", 14, suffix=".atlas" + "v1.") + random_secret("t", 60),
    "Airtable": random_secret("pa" + "t", 14) + random_secret(".", 64, HEX),
    "Asana": "1/" + random_secret("", 16, "0123456789") + random_secret(":", 32, HEX),
    "Dynatrace": random_secret("dt" + "0c01.", 24, UPPER) + random_secret(".", 64, UPPER),
    "Heroku": "HR" + "KU-" + "01234567-89ab-cdef-0123-456789abcdef",
    "Cloudflare origin": random_secret("v1" + ".0-", 24, HEX) + random_secret("-", 146, HEX),
    "Braintree": "access" + "_token$production$0a1b2c3d4e5f6g7h$" + random_secret("", 32, HEX),
    "LaunchDarkly": "sd" + "k-01234567-89ab-4def-8123-456789abcdef",
    "Buildkite": random_secret("bk" + "ua_", 40, HEX),
    "SonarQube": random_secret("sq" + "p_", 40, HEX),
    "1Password": "A" + "3-ABC123-DEF456GHI78-JKL90-MNO12-PQR34",
    "old Vault": random_secret("s" + ".1", 23),
    "crypt": "$6" + "$" + random_secret("", 16, suffix="$") + random_secret("h", 80),
    "base64": random_secret("", 60, LETTERS + "+/", "=="),
    "random": random_secret("Ab1", 40),
}
CONTEXTS = (
    "{}",
    "failed with {} at step 3",
    '"{}"',
    "url=https://host/path?x={}&y=1",
    "  File x.py, line 3\n    run('{}')\nValueError: {}",
)


@pytest.mark.parametrize("kind", TOKENS)
def test_tokens_of_known_formats_are_masked_anywhere(kind: str) -> None:
    for context in CONTEXTS:
        assert TOKENS[kind] not in mask_text(context.format(TOKENS[kind], TOKENS[kind]))


@pytest.mark.parametrize(
    "text",
    [
        "DefaultEndpointsProtocol=https;AccountName=me;Account" + "Key={};EndpointSuffix=x",
        "Endpoint=sb://x/;SharedAccessKeyName=root;SharedAccess" + "Key={}",
        "Server=db;User Id=me;Pass" + "word={};Encrypt=yes",
        "Server=db;Uid=me;P" + "wd={}",
        "mongodb+srv://me:{}@cluster/db",
        "amqp://me:{}@queue:5672/",
        "https://me:{}@github.com/a/b.git",
        "Authorization: Bearer {}",
        "authorization: Basic {}",
        "X-Api-Key: {}",
        "{{'api_key': '{}', 'lr': 0.1}}",
        'raise ValueError("{{\\"pass' + 'word\\": \\"{}\\", \\"lr\\": 1}}")',
        '{{"body": "{{\\\\\\"sec' + 'ret\\\\\\": \\\\\\"{}\\\\\\"}}"}}',
        '{{"pass' + 'word": "a\\"{} b", "lr": 1}}',
        'client_secret: "{}"',
        "SSH_KEY_DATA={}",
        "KEY1={} MYKEY={} HF_TOKENS={}",
        "password = '{}'",
        "os.environ['API_TOKEN'] = '{}'",
        'os.environ["MYKEY"] = "{}"',
        "-H 'Authorization: token {}'",
        'if password == "{}":',
        "mysql --password {} db",
        "Command 'mysql -u root -p{} db' returned non-zero exit status 1.",
        "Command '['mysql', '-u', 'root', '-p{}']' returned non-zero exit status 1.",
        "Command '['mysql', '--password', '{}', 'db']' returned non-zero exit status 1.",
        '    subprocess.run(["sshpass", "-p", "{}", "ssh"], check=True)',
        "curl -u me:{} https://host",
        "os.environ.get('DB_PASS" + "WORD', '{}')",
        "os.putenv(b'DB_PASS" + "WORD', b'{}')",
        '[["api_' + 'key", "{}"]]',
        '{{"name": "DB_PASS' + 'WORD", "value": "{}"}}',
        "- name: DB_PASS" + "WORD\n  value: {}",
        '<property name="pass' + 'word" value="{}"/>',
        "def connect(host, pass" + 'word: str = "{}", port=1):',
        "    pass" + "word = os.environ.get('PW') or '{}'",
        "    pass" + "word = prefix + '{}'",
        "    pass" + "word = 'first ' '{}'",
        "    pass" + "word = ask(\n        'first', '{}'\n    )",
        "    pass" + "word = " + "'" * 3 + "{}" + "'" * 3,
        "    user, pass" + "word = 'me', '{}'",
        "requests.get(url, auth=('me', '{}'), timeout=1)",
        "if token != '{}':",
        "pass" + "word%3D{}%26x",
        "passcode: {}",
        "setenv DB_PASS" + "WORD {}",
        "machine h\n  login me\n  pass" + "word {}",
        "CREATE USER me IDENTIFIED BY '{}'",
        "ALTER ROLE me WITH ENCRYPTED PASS" + "WORD '{}'",
        "SET PASS" + "WORD FOR me = PASS" + "WORD('{}')",
        "<pass" + "word>{}</pass" + "word>",
        "<db:client-sec" + 'ret type="text"> {} </db:client-sec' + "ret>",
        "<pass" + "word><![CDATA[{}]]></pass" + "word>",
        "config.setPass" + 'word("{}");',
        "keyring.set_pass" + "word('service', 'me', 'a) {}')",
        'raise ValueError("setPass' + 'word(\\"{}\\")")',
        "pass" + "word: |\n  {}\n\n  {}\nlr: 1",
        "- db_pass" + "word: >-\n    first\n    {}\n  host: x",
        "ValueError: 'pass" + "word: |\\n  {}\\nlr: 1'",
        "pass" + "word => {}",
        ":pass" + "word   => '{}', :host => 'x'",
        "<token>{}</token> token => {}",
        "-----BEGIN RSA " + "PRIVATE KEY-----\n{}\n-----END RSA " + "PRIVATE KEY-----",
        "key='-----BEGIN OPENSSH " + "PRIVATE KEY-----\\n{}\\nno end",
    ],
)
@pytest.mark.parametrize("secret", ["hunter2x", "S3cr3tWithoutAnyShape"])
def test_a_secret_is_masked_because_of_its_name(text: str, secret: str) -> None:
    masked = mask_text(text.format(*[secret] * text.count("{}")))
    assert secret not in masked
    assert MASK in masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (
            "['run', 'SSH_KEY_DATA={}', 'KEY1={}', 'x']",
            "['run', 'SSH_KEY_DATA={}', 'KEY1={}', 'x']",
        ),
        ("Command '['run', 'TOKEN={}']' failed.", "Command '['run', 'TOKEN={}']' failed."),
        ('run("PASSWORD={}", check=True)', 'run("PASSWORD={}", check=True)'),
        ("sh -c 'export TOKEN={}'", "sh -c 'export TOKEN={}'"),
        ('{{"cmd": "TOKEN={}"}}', '{{"cmd": "TOKEN={}"}}'),
        ('"a \\"TOKEN={}\\" b"', '"a \\"TOKEN={}\\" b"'),
        ("PASSWORD={}'{}'x", "PASSWORD={}"),
        ("password='{}'", "password={}"),
    ],
)
def test_closing_quote_after_a_masked_value_is_kept(text: str, masked: str) -> None:
    secret = "hunter2" + "x"
    result = mask_text(text.format(*[secret] * text.count("{}")))
    assert result == masked.format(*[MASK] * masked.count("{}"))


@pytest.mark.parametrize(
    "text",
    [
        "mysql -u root -p{} db",
        "sshpass -p {} ssh box",
        "docker login -u me -p {} registry",
        "redis-cli -a {} ping",
        "ldapsearch -x -w {} -b dc=x",
        "unzip -P {} data.zip",
        "openssl enc -aes256 -k {}",
        "Command '['redis-cli', '-a', '{}']' returned non-zero exit status 1.",
        "Command '['mysql', '-p{}', 'db']' returned non-zero exit status 1.",
        "Command '['/usr/bin/sshpass', '-p', '{}', 'ssh']' returned non-zero exit status 1.",
    ],
)
def test_the_password_after_p_is_masked_for_programs_that_take_one(text: str) -> None:
    assert mask_text(text.format("hunter")).count("hunter") == 0


def test_only_the_lines_of_a_secret_block_are_masked() -> None:
    text = "db:\n  pass" + "word: |\n    hunter\n\n    two\n  host: x\nlr: 1"
    assert mask_text(text) == f"db:\n  password: {MASK}\n  host: x\nlr: 1"


def test_other_words_of_an_expression_are_kept() -> None:
    text = "    pass" + "word = read(prefix, 'hunter', 3) or default + 'hunter'  # why"
    masked = f"    password = {MASK}, '{MASK}', 3) or default + '{MASK}'  # why"
    assert mask_text(text) == masked


def test_text_after_a_private_key_is_kept() -> None:
    key = "-----BEGIN EC " + "PRIVATE KEY-----\nMIIEpA\n-----END EC " + "PRIVATE KEY-----"
    assert mask_text(f"before {key} after") == f"before {MASK} after"


def test_secrets_in_the_arguments_of_a_failed_subprocess_are_masked() -> None:
    secret = "hunter2" + "x"
    with pytest.raises(subprocess.CalledProcessError) as caught:
        subprocess.run(
            ["false", "--password", secret, "--token=" + secret, "-p" + secret], check=True
        )
    masked = mask_text("".join(traceback.format_exception(caught.value)))
    assert secret not in masked
    assert "returned non-zero exit status 1" in masked
    assert "'--password', '***'" in masked


@pytest.mark.parametrize(
    "text",
    [
        "0f3a9c5e7b1d2468ace013579bdf02468ace0135",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "123e4567-e89b-12d3-a456-426614174000",
        "bert.encoder.layer.0.attention.self.key: mean 0.0, std 0.02",
        "model.layers.11.self_attn.q_proj.weight has gradients of 1.2e-9",
        "transformer.h.3.attn.key = Linear(in_features=768)",
        "attention.key: 0.5",
        "wte.token_embedding.weight: 768 of 50257 rows",
        "cls_token: 3, mask_token_id=103, max_tokens=4096, train_tokens=10B, tokens: 1,024",
        "/data/checkpoints/run-0042/step_0001000/model-00001-of-00002.safetensors",
        "s3://bucket/team/run-2026-11-16T08:00:00/report.html",
        "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity)",
        "KeyError: 'loss'",
        "KeyError: 'layer4.0.conv1'",
        "docker run -p 8080:80 image, ssh -p 2222 box, mkdir -p runs",
        "  File \"/home/me/train.py\", line 42, in <module>\n    loss = model(batch['tokens'])",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x128 and 64x10)",
        "Sort by key, then by value: keys differ. The token is missing; basic functionality",
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed",
        "torch.Size([8, 512, 768]) != torch.Size([8, 512, 1024])",
        "Command '['torchrun', '--nproc-per-node', '8', 'train.py', '-p', 'bf16']' returned 1",
        "argument --token is required",
        "lr=3e-4, betas=(0.9, 0.95), seed=1234567890123456",
        "llama-7b-lora-r16-alpha32-lr3e-4-bs128-seed42 took 12:30:45",
        "http://127.0.0.1:8765/#/jobs/train-20261115-120000/nodes?sel=47-71",
        "process_tree.memory.rss: 12,345,678,901 bytes",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
        "void cub::detail::unique_by_key::DeviceUniqueByKeySweepKernel<long const*, Policy1000>",
        "autograd::engine::evaluate_function: ScaledDotProductCudnnAttentionBackward0",
        "the password is required",
        "The password is required, the token is not: see the secret of the door",
        "usage: login <user> <password> [options]",
        "<key>CFBundleName</key><string>Sonde</string>",
        "<token>the</token><token>cat</token>",
        "items.map(token => token.id); key => value",
        'getpass.getpass("User: ")',
        'tokenizer.set_pad_token("<pad>"), model.set_token("the")',
        "set_password(user, value) takes 2 arguments",
        "('loss', '0.5'), ['key', 'value'], {'name': 'resnet50', 'value': '0.125'}",
        "name: learning_rate\n  value: 0.001",
        "tar -p, ls -a runs, zip -r out.zip runs, gcc -w main.c, curl -k https://host",
        "wandb login failed, huggingface-cli login --add-to-git-credential",
        "WITH passwords AS (SELECT 'a')",
        "s.SomeAttributeOfAnObject, live_metrics, v1.0-rc1, 1/0",
        "ampere_sgemm_128x64_tn, nvjet_hsh_192x192_64x4_2x1_v_bz_coopB_NNT",
    ],
)
def test_text_without_secrets_is_unchanged(text: str) -> None:
    assert mask_text(text) == text


def test_reference_pages_are_unchanged() -> None:
    for name in ("rules", "metrics", "charts", "records"):
        for line in (ROOT / "docs" / "reference" / f"{name}.md").read_text().splitlines():
            assert mask_text(line) == line


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "=" * 200_000,
        "key=" * 50_000,
        "://" * 60_000,
        "://a:" * 40_000,
        "'" * 200_000,
        "'a'," * 50_000,
        "\"'" * 100_000,
        "'\\" * 100_000,
        "-p" * 100_000,
        "-p x " * 40_000,
        "--password " * 20_000,
        "http://" * 30_000,
        "http://a/webhook" * 12_000,
        "eyJ" * 60_000,
        "-----BEGIN PRIVATE KEY-----" * 8_000,
        "bearer " * 30_000,
        "A1b2" * 50_000,
        "a.b-" * 50_000,
        "token_" * 40_000 + "=x",
        "-u a:" * 40_000,
        "mysql " * 30_000,
        "mysql -p " * 20_000,
        " " * 200_000,
        "[" * 200_000,
        "x= " * 60_000,
        "<password>" * 20_000,
        "<password><![CDATA[" * 20_000,
        "setPassword(" * 20_000,
        'setPassword("' * 20_000,
        "password: |\n" * 20_000,
        "password: |\n " * 20_000,
        "password =" * 20_000,
        "password = a + " * 20_000,
        "password = (" * 20_000,
        "a, password = 'a' " * 12_000,
        "('password', '" * 12_000,
        "name: password\n" * 12_000,
        "name=password value=" * 9_000,
        "login a password " * 10_000,
        "login -a " * 20_000,
        "WITH PASSWORD 'a" * 10_000,
        "redis-cli -a " * 12_000,
        "$6$" * 60_000,
        "pat" * 60_000,
    ],
    ids=lambda text: repr(text[:16]),
)
def test_masking_time_is_linear_in_the_length(text: str) -> None:
    start = time.process_time()
    mask_text(text[:MAX_LENGTH])
    assert time.process_time() - start < SECONDS


@given(st.text(max_size=200))
def test_masking_is_idempotent(text: str) -> None:
    masked = mask_text(text)
    assert mask_text(masked) == masked
