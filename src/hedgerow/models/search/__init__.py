"""BeamSearchTagger: a search that is learnt as a whole."""
