"""Which files are where: what their names mean, and how they are found.

    file_names                kinds of files, offsets and partitions out of names
    search                    the directories with Kafka's files at a path and below it
    partition                 `find_files`, `find_partitions`: the files, and those of a partition

Only names are read, except the first header of a segment whose name has no offset.
"""
