"""From the files of a metadata log to an image.

source                    the snapshots and segments at a path
replay                    their records, in order
transactions              which records take effect, and when
load                      the image at an offset
"""
