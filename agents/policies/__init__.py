"""Policies: lookup by name, policy files, rollouts and evaluation."""
