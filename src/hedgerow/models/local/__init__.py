"""Models that classify each position given the labels before it: sliding windows and MEMM."""
