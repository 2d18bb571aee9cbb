"""NumPy, or None where it is not installed: everything works without it, slowly."""

try:
    import numpy
except ImportError:  # pragma: no cover
    numpy = None
