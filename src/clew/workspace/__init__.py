"""The folder an agent works in: its files, commands, notes and skills, and the tools that other servers lend."""
