"""Judging drafts: specs in files and on wiki pages, read in spite of their slips."""
