"""The error types of the Messages API and their HTTP statuses."""

from __future__ import annotations

__all__ = ["ERROR_TYPES", "STATUS_OF"]

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
STATUS_OF = {error_type: status for status, error_type in ERROR_TYPES.items()}
