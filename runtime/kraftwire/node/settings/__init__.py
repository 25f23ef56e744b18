"""Reads `server.properties`: typed values, and the line of each mistake.

`property_reader` reads the file, `properties` has all settings of a node; `storage_properties`,
`listeners` and `numeric_settings` are its parts.
"""
