"""Channels: ways in for people who do not sit at this machine, and the way their answers go back."""
