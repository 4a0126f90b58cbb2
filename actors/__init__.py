"""The actors, one file each, and the system that starts and supervises them."""
