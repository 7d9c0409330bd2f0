"""Speed and accuracy as ratios to peers, measured in one run."""
