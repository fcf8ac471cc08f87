"""State checks: facts about a PyTorch training that need no threshold."""
