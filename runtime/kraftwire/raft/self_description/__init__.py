"""What a replica reports about itself: ApiVersions, DescribeCluster, DescribeQuorum, metrics.

It imports `core` and the packages below it.
"""
