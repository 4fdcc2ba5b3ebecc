"""Why a position has its label: the parts of its log-odds, what would turn it, and how both are shown."""
