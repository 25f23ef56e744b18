"""Compares two spec sets, releases or single specs.

- `sides`             reads one side of a comparison
- `pairs`             pairs messages and fields of the two sides
- `spec_diff`         every difference, for `specs diff`
- `record_keys`       coordinator records before and after Kafka 4.0
- `evolution_rules`   what a change of one field means for the wire format
- `field_match`       pairs the fields of a struct in one version
- `field_evolution`   applies the rules to all fields, version by version
- `evolution_report`  collects the findings
- `evolution`         compares whole messages and sets, for `evolve`; the entry point
"""
