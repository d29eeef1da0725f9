"""What `make check` runs."""
