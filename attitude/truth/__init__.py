"""Truth models: exact and structure-preserving motion beside the flight loop."""
