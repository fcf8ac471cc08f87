"""PPO of Stable-Baselines3 on a cart pole."""

import gymnasium
from reporting import print_final_state, print_value, seed_all
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import set_random_seed

seed_all()
set_random_seed(7)


class PrintLosses(BaseCallback):
    """Prints the loss that PPO logs: the one of the last batch of each update."""

    def _on_rollout_start(self) -> None:
        self.print_loss()

    def _on_training_end(self) -> None:
        self.print_loss()

    def _on_step(self) -> bool:
        return True

    def print_loss(self) -> None:
        """Print the logged loss; there is none before the first update."""
        if "train/loss" in self.logger.name_to_value:
            print_value("last loss", self.logger.name_to_value["train/loss"])


environment = gymnasium.make("CartPole-v1")
agent = PPO("MlpPolicy", environment, n_steps=128, batch_size=32, n_epochs=4, seed=7, device="cpu")
agent.learn(512, callback=PrintLosses())
print_value("updates", agent._n_updates * 128 // 32)  # counts epochs over a rollout
print_final_state(agent.policy, agent.policy.optimizer)
