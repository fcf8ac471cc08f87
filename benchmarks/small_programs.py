"""Training programs with short steps, in common styles. Each calls `tick` per unit.

A unit is one training step, or one round of a program whose steps alternate with other work.
`tick` returns True when the measurement is complete.
"""

import tempfile
from collections.abc import Callable
from importlib import import_module
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.small_loops import bandit, closures

Tick = Callable[[], bool]
Program = Callable[[Tick], None]


def perceptron(tick: Tick) -> None:
    """A plain loop over tensors in memory, 0.3 ms per step."""
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    model.append(nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, labels = torch.randn(64, 16, 32), torch.randint(0, 10, (64, 16))
    for number in count():
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs[number % 64]), labels[number % 64])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if tick():
            return


def digits(tick: Tick) -> None:
    """Convolutions over 8 by 8 pixels, with a loader, a scheduler and an evaluation per epoch."""
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU())
    model.extend([nn.Flatten(), nn.Linear(256, 10)])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    data = TensorDataset(torch.randn(1600, 1, 8, 8), torch.randint(0, 10, (1600,)))
    train = DataLoader(data, 16, shuffle=True)
    held_out = DataLoader(TensorDataset(*data[:400]), 100)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.99)
    while True:
        model.train()
        for images, labels in train:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            if tick():
                return
        scheduler.step()
        model.eval()
        with torch.no_grad():
            for images, labels in held_out:
                criterion(model(images), labels).item()


class _ActorCritic(nn.Module):
    """A policy and a value function, as in reinforcement learning libraries."""

    def __init__(self, separate_calls: bool) -> None:
        super().__init__()
        self._separate_calls = separate_calls
        self.actor_body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.critic_body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor = nn.Linear(64, 2)
        self.critic = nn.Linear(64, 1)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return action scores and values."""
        return self.actor(self.actor_body(states)), self.critic(self.critic_body(states))

    def act(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return the same, through the submodules if `separate_calls` is set."""
        if self._separate_calls:
            return self.forward(states)
        scores, values = self(states)
        return scores, values


def _ppo(tick: Tick, separate_calls: bool) -> None:
    model = _ActorCritic(separate_calls)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, eps=1e-5)
    state = torch.randn(1, 4)
    while True:
        states, actions, chances = [], [], []
        model.train(separate_calls)
        for _ in range(128):
            with torch.no_grad():
                scores, _ = model.act(state)
                choice = torch.distributions.Categorical(logits=scores)
                action = choice.sample()  # type: ignore[no-untyped-call]
            states.append(state)
            actions.append(action)
            chances.append(choice.log_prob(action))  # type: ignore[no-untyped-call]
            state = 0.9 * state + 0.1 * torch.randn(1, 4)
        model.train(True)
        batch, sampled, before = torch.cat(states), torch.cat(actions), torch.cat(chances)
        for chosen in torch.randperm(128).view(4, 32):
            scores, values = model.act(batch[chosen])
            after = functional.log_softmax(scores, -1).gather(1, sampled[chosen, None])[:, 0]
            ratio = (after - before[chosen]).exp()
            bounded = ratio.clamp(0.8, 1.2)
            loss = -torch.min(ratio, bounded).mean() + 0.5 * values.square().mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        if tick():
            return


def ppo_whole(tick: Tick) -> None:
    """Rollouts that call the policy in evaluation mode, then updates."""
    _ppo(tick, separate_calls=False)


def ppo_parts(tick: Tick) -> None:
    """Rollouts that call actor and critic, never the model, and never switch the mode."""
    _ppo(tick, separate_calls=True)


def characters(tick: Tick) -> None:
    """A character model with parameters and without modules, as in makemore."""
    table = torch.randn(27, 10)
    first, offset = torch.randn(30, 200) * 0.1, torch.zeros(200)
    second, shift = torch.randn(200, 27) * 0.1, torch.zeros(27)
    parameters = [table, first, offset, second, shift]
    for parameter in parameters:
        parameter.requires_grad_()
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    words, following = torch.randint(0, 27, (3200, 3)), torch.randint(0, 27, (3200,))
    while True:
        chosen = torch.randint(0, 3200, (32,))
        hidden = torch.tanh(table[words[chosen]].view(-1, 30) @ first + offset)
        loss = functional.cross_entropy(hidden @ second + shift, following[chosen])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if tick():
            return


def adversaries(tick: Tick) -> None:
    """A generator and a discriminator: two optimizers, three backward passes."""
    generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64))
    discriminator = nn.Sequential(nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    makes = torch.optim.Adam(generator.parameters(), lr=2e-4)
    judges = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
    criterion = nn.BCEWithLogitsLoss()
    real, true, false = torch.randn(32, 64), torch.ones(32, 1), torch.zeros(32, 1)
    while True:
        discriminator.zero_grad()
        criterion(discriminator(real), true).backward()
        made = generator(torch.randn(32, 16))
        criterion(discriminator(made.detach()), false).backward()
        judges.step()
        generator.zero_grad()
        criterion(discriminator(made), true).backward()
        makes.step()
        if tick():
            return


class _Recurrent(nn.Module):
    """A cell that is called once per character."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 32)
        self.cell = nn.GRUCell(32, 64)
        self.head = nn.Linear(64, 64)

    def forward(self, words: Tensor) -> Tensor:
        """Return scores of each next word."""
        hidden = torch.zeros(len(words), 64)
        scores = []
        for at in range(words.shape[1]):
            hidden = self.cell(self.embedding(words[:, at]), hidden)
            scores.append(self.head(hidden))
        return torch.stack(scores, 1)


def recurrent(tick: Tick) -> None:
    """Many calls of small modules in one pass."""
    model = _Recurrent()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    words = torch.randint(0, 64, (400, 8, 17))
    for number in count():
        batch = words[number % 400]
        scores = model(batch[:, :-1])
        loss = functional.cross_entropy(scores.reshape(-1, 64), batch[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if tick():
            return


class _Recommender(nn.Module):
    """Sums of embeddings, combined with numeric features."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(1000, 16, mode="sum") for _ in range(8))
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(144, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, numbers: Tensor, kinds: Tensor) -> Tensor:
        """Return one score per sample."""
        embeddings = [table(kinds[:, at, None]) for at, table in enumerate(self.tables)]
        scores: Tensor = self.top(torch.cat([self.bottom(numbers), *embeddings], 1))
        return scores[:, 0]


def recommender(tick: Tick) -> None:
    """Embedding tables with a loader in the main process."""
    model = _Recommender()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-2)
    data = TensorDataset(
        torch.randn(6400, 13), torch.randint(0, 1000, (6400, 8)), torch.rand(6400).round()
    )
    while True:
        for numbers, kinds, labels in DataLoader(data, 64, shuffle=True):
            loss = functional.binary_cross_entropy_with_logits(model(numbers, kinds), labels)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if tick():
                return


def inference(tick: Tick) -> None:
    """Many small modules without gradients, after a short training."""
    layers = [nn.Sequential(nn.Linear(32, 32), nn.LayerNorm(32), nn.GELU()) for _ in range(12)]
    model = nn.Sequential(*layers, nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(50):
        optimizer.zero_grad()
        model(torch.randn(8, 32)).square().mean().backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        while True:
            for _ in range(4):
                model(torch.randn(8, 32)).argmax(1)
            if tick():
                return


def loading(tick: Tick) -> None:
    """A loop that waits for two loader processes, some milliseconds per step."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(768, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(_Slow(), 16, num_workers=2, persistent_workers=True)
    while True:
        for images, labels in loader:
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(images), labels)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if tick():
                return


class _Slow(torch.utils.data.Dataset[tuple[Tensor, int]]):
    """Samples that take time to create."""

    def __len__(self) -> int:
        return 3200

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = torch.rand(3, 16, 16)
        for _ in range(8):
            image = image.roll(1, 1).mul(0.99)
        return image, index % 10


def lightning_autoencoder(tick: Tick) -> None:
    """Lightning's first example: an encoder, a decoder, a training_step."""
    lightning: Any = import_module("lightning")  # optional

    class AutoEncoder(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 3))
            self.decoder = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 784))

        def training_step(self, batch: Any, _index: int) -> Tensor:
            images = batch[0].view(len(batch[0]), -1)
            loss = functional.mse_loss(self.decoder(self.encoder(images)), images)
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters(), lr=1e-3)

    class Ticks(lightning.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            if tick():
                trainer.should_stop = True

    loader = DataLoader(TensorDataset(torch.rand(3200, 1, 28, 28)), 32)
    trainer = lightning.Trainer(
        max_epochs=-1,
        max_steps=-1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        callbacks=[Ticks()],
    )
    trainer.fit(AutoEncoder(), loader)


def transformers_trainer(tick: Tick) -> None:
    """The Hugging Face Trainer with a model of two narrow layers."""
    transformers: Any = import_module("transformers")

    class Ticks(transformers.TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, _args: Any, _state: Any, control: Any, **_: Any) -> None:
            if tick():
                control.should_training_stop = True

    settings = transformers.GPT2Config(
        vocab_size=128, n_positions=16, n_embd=32, n_layer=2, n_head=2
    )
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 128, (512, 16))]
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder,
            max_steps=10**6,
            per_device_train_batch_size=4,
            report_to=[],
            save_strategy="no",
            logging_steps=50,
            use_cpu=True,
            disable_tqdm=True,
        )
        transformers.Trainer(
            transformers.GPT2LMHeadModel(settings),
            arguments,
            train_dataset=rows,
            callbacks=[Ticks()],
        ).train()


def stable_baselines(tick: Tick) -> None:
    """PPO of Stable-Baselines3 on a cart pole; a unit is one rollout with its updates."""
    baselines: Any = import_module("stable_baselines3")

    class Ticks(baselines.common.callbacks.BaseCallback):  # type: ignore[misc]
        def _on_rollout_start(self) -> None:
            self.is_over = tick()

        def _on_step(self) -> bool:
            return not self.is_over

    model = baselines.PPO("MlpPolicy", "CartPole-v1", n_steps=128, batch_size=32, n_epochs=1)
    model.learn(10**9, callback=Ticks())


PROGRAMS: dict[str, Program] = {
    function.__name__: function
    for function in (
        *(perceptron, digits, ppo_whole, ppo_parts, characters, adversaries, recurrent),
        *(
            recommender,
            bandit,
            closures,
            inference,
            loading,
            lightning_autoencoder,
            transformers_trainer,
        ),
        stable_baselines,
    )
}
NEEDS = {
    "lightning_autoencoder": "lightning",
    "transformers_trainer": "accelerate",
    "stable_baselines": "stable_baselines3",
}
