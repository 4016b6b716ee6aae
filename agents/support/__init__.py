"""Files that stay whole, schemas, progress, interruption, and the processes that share long work."""
