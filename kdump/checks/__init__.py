"""What is wrong: files compared with each other and with the rules of their formats."""
