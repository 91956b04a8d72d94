"""Values into words: the one place where text for people is chosen, so that every face says the same thing."""
