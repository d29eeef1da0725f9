"""Encodes a sentence of ids and decodes greedily. Usage: run.py ARTIFACT"""

import sys

import numpy as np

import polystate as ps

model = ps.load(sys.argv[1])
session = model.session()
session.run("encode", np.array([5, 17, 3, 29, 8], dtype=np.int64))

token = np.array([model.constants["start_token"]], dtype=np.int64)
for _ in range(10):
    (logits,) = session.run("decode", token)
    token = np.argmax(logits, keepdims=True)
    print(token[0])
