"""A quorum from outside: `admin` describes it and changes its voters; `status` is the answer."""
