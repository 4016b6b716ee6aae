"""C. elegans, after Chung, Chang & Kim (2024)."""
