"""The slides on sequential supervised learning."""
