"""Fixed-rate loops and links for software- and hardware-in-the-loop tests."""
