"""Turns message specs into Python: parse, resolve, check, plan, render, emit; see `cli`."""
