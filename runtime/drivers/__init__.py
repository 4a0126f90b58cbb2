"""Providers: the driver interface, and a folder for each that is built in."""
