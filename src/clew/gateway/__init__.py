"""One process that owns the sessions of a store: HTTP, event streams, channels, and a page to look into the window."""
