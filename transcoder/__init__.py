"""The JSON-RPC 2.0 face: everything it knows of the operations comes from the generated descriptors."""
