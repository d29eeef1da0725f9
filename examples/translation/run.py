"""Translates a text. Usage: run.py ARTIFACT TEXT"""

import sys

import polystate as ps

translate = ps.pipeline(sys.argv[1])
print(translate(sys.argv[2])[0]["translation_text"])
