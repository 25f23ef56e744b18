"""Which files are where: what their names mean, and how they are found.

    file_names                parse names: kinds of files, offsets, partitions
    search                    the directories with Kafka's files at a path and below it
    partition                 `find_files`, and `find_partitions`, which groups them

Only names are read, except the first header of a segment whose name has no offset.
"""
