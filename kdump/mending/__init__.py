"""What mends: new companions of logs, written into a new directory."""
