"""All fuzz targets by name."""

from tests.fuzz import files, shards, texts

TARGETS = {**texts.TARGETS, **shards.TARGETS, **files.TARGETS}
