"""The stages of an export side by side, value by value."""
