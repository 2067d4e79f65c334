"""What a broker does with a directory at its next start: a model of its loading code, which reads what that would read."""
