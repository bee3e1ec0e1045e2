"""Runners: how a turn is run. Chat, vault, tools, agent and project, on one loop."""
