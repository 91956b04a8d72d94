"""The folder an agent works in: its files, its commands, its notes and skills, and the tools that other servers lend."""
