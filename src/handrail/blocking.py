"""The SDK without async. In: the same options. Out: the same turns and answers, as plain calls and loops."""

from handrail.client.blocking import Session, Turn, query

__all__ = ["Session", "Turn", "query"]
