"""What the tests of templates share."""

from tests.python.chat_template.compare import fixed_date

__all__ = ["fixed_date"]
