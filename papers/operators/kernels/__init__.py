"""The compiled loops of the operators: whole runs, tuple by tuple."""
