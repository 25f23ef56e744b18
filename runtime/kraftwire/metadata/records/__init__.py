"""Reading the files of a metadata log into an image.

source                    the snapshots and segments at a path
replay                    their records, in order
transactions              which records take effect, and when
load                      the image at an offset
"""
