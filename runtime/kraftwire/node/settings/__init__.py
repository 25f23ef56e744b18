"""`server.properties`: typed, checked, with the line of each mistake.

`property_reader` reads the file, `properties` has all settings of a node; `storage_properties`,
`listeners` and `tuning` are its parts.
"""
