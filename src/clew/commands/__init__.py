"""What a person types in a chat that is meant for Clew and not for the model: data in, values out."""
