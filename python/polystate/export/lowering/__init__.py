"""From functional graphs to one ExecuTorch program over one state."""
