"""Catalogues: tokens, registry, marketplace apps; data files and their loaders."""
