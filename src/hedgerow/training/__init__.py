"""Training that is the same for every model: the monitor, trainers of the whole corpus, online trainers, boosting."""
