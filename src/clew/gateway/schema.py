"""The OpenAPI schema with what holds for every path: the token, and what an error looks like."""

from typing import Any

from fastapi import FastAPI

from clew.gateway.door import OPEN, OPEN_FOLDERS

ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "description": "A word for programs, such as `unknown_session`."},
                "message": {"type": "string", "description": "What happened, what was kept, and what to do next."},
            },
        }
    },
}
"""The body of every error."""

DEFAULT = {
    "description": "What went wrong. 429 and 503 come with `Retry-After`.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}

UNUSED = ("HTTPValidationError", "ValidationError")
"""The library's own form of an error, which is never sent."""


def described(api: FastAPI) -> None:
    """Have an application's schema say it."""
    plain = api.openapi

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            _add(plain())
        return plain()

    api.openapi = openapi  # type: ignore[method-assign]


def _add(schema: dict[str, Any]) -> None:
    parts = schema.setdefault("components", {})
    kinds = parts.setdefault("schemas", {})
    for name in UNUSED:
        kinds.pop(name, None)
    kinds["Error"] = ERROR
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    schema["security"] = [{"token": []}]
    for path, methods in schema["paths"].items():
        for told in methods.values():
            told["responses"].pop("422", None)
            told["responses"]["default"] = DEFAULT
            if path in OPEN or path.startswith(OPEN_FOLDERS):
                told["security"] = []
