"""The arena: contenders over many data sets, nothing tuned. `python -m benchmarks.arena --help` says how.

`tasks` has the data sets, `contenders` and `baselines` those who are compared, `resolver` reads the name of one,
`measures` scores a labelling, `running` gives every run a process of its own, `significance` has ranks and tests, and
`table` prints.
"""
