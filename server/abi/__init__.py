"""Contract ABIs: types, functions and events; arguments from JSON, outputs and logs to JSON."""
