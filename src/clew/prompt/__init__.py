"""What a request is made of, and who takes how much of it."""
