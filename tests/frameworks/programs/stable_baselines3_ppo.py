"""PPO of Stable-Baselines3 on a pole that it has to balance."""

import gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import set_random_seed
from telling import begin, tell, tell_end

begin()
set_random_seed(7)


class Telling(BaseCallback):
    """Prints the loss that PPO logs: that of the last batch of each update."""

    def _on_rollout_start(self) -> None:
        self.tell_loss()

    def _on_training_end(self) -> None:
        self.tell_loss()

    def _on_step(self) -> bool:
        return True

    def tell_loss(self) -> None:
        """Nothing is logged before the first update."""
        if "train/loss" in self.logger.name_to_value:
            tell("last loss", self.logger.name_to_value["train/loss"])


environment = gymnasium.make("CartPole-v1")
agent = PPO("MlpPolicy", environment, n_steps=128, batch_size=32, n_epochs=4, seed=7, device="cpu")
agent.learn(512, callback=Telling())
tell("updates", agent._n_updates * 128 // 32)  # it counts epochs over a rollout
tell_end(agent.policy, agent.policy.optimizer)
