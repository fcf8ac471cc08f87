"""PPO of Stable-Baselines3 on a pole that it has to balance."""

import gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.utils import set_random_seed
from telling import begin, tell, tell_end

begin()
set_random_seed(7)
environment = gymnasium.make("CartPole-v1")
agent = PPO("MlpPolicy", environment, n_steps=128, batch_size=32, n_epochs=4, seed=7, device="cpu")
agent.learn(512)
tell("updates", agent._n_updates * 128 // 32)  # it counts epochs over a rollout
tell_end(agent.policy, agent.policy.optimizer)
