"""Host scripts of the SDK up to release 0.8: CSELFRunner, and what goes with it."""
