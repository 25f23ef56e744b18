"""What a replica reports about itself: ApiVersions, DescribeCluster, DescribeQuorum and metrics.

It imports `core` and the packages below it.
"""
