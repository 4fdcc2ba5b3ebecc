"""The tasks of the arena. Each is a function that loads its data, in the order of the table."""

from benchmarks.arena.tasks import public, text, made, recordings  # noqa: F401, I001  (in the order of the table)
from benchmarks.arena.tasks.task import TASKS, Asked, Part, Task, inside_train, tiny

__all__ = ["TASKS", "Asked", "Part", "Task", "inside_train", "tiny"]
