"""What a fitted model has learnt, in words: which features matter, its trees, and the rules that they add up to."""

from hedgerow.explain.future import FutureFeatureSummary, future_features
from hedgerow.explain.importance import Importance, Share, importance
from hedgerow.explain.rules import Condition, Rule, rules
from hedgerow.explain.trees import tree_text

__all__ = [
    "Condition",
    "FutureFeatureSummary",
    "Importance",
    "Rule",
    "Share",
    "future_features",
    "importance",
    "rules",
    "tree_text",
]
