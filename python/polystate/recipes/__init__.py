"""Models of well-known libraries as methods over one state; start reading at `pretrained.py`.

Importing this package does not import torch, so that `settings` can be read before.
"""
