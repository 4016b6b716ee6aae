"""What measures: policies by name, rollouts, the benchmark."""
