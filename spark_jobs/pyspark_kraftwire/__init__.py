"""Log segments as Spark DataFrames; this source root has no code yet."""
