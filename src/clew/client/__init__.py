"""A gateway as a program asks it: where it is, what is asked of it, what it tells as it happens."""
