"""From what users have to Datasets: readers, Sequences, the encoder, vocabularies."""
