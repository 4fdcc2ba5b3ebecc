"""FutureFeatureMEMM: patterns ahead, found by multiple-instance boosting."""
