"""What lines of logs mean: words of brokers and clients, their meaning, and the faults that they come from."""
