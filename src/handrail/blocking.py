"""The SDK without async: the same options and turns, as blocking calls and iterators."""

from handrail.client.blocking import Session, Turn, query

__all__ = ["Session", "Turn", "query"]
