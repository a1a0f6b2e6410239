"""What both processes stand on: operations, settings, logs, metrics, redaction. Imports nothing else of ours."""
