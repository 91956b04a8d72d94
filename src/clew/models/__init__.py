"""Models behind providers: the port, the official SDKs, catalogs of windows and prices, and a scripted one."""
