"""How models become files: the language in which a kind of model declares its fitted state, and the parts that several
kinds share (schemas, moves, histories, weights of features, trees).

One walk over a declaration writes a model, and one reads and checks it. What belongs to one family stands in that
family's folder, and bytes, checksums and JSON in `persistence.py`.
"""
