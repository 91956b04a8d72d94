"""Channels over HTTP."""

from fastapi import APIRouter

from clew.gateway.hub import Hub


def routes(hub: Hub) -> APIRouter:
    """All of it over a hub."""
    return APIRouter()
