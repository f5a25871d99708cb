"""What joins cost, and how to divide too little of something: pure functions.

Three rooms: `two` (a join of two streams, Kang 2003), `many` (plans of many joins, Mukherji 2011,
and n-ary joins, Valsomatzis 2013) and `table` (a stream and a table, Naeem et al. 2017).
"""
