"""Finding again what a session said long ago: terms, queries, passages. Pure; the searching itself is a store's."""
