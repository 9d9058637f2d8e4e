"""The score of what the engine finds, by the one formula of the plugin's stores."""

from __future__ import annotations

from muniment.memory.config.plugin import PluginSettings
from muniment.memory.domain.query import Hit
from muniment.plugin.domain.item import Channel, MemoryHit, SearchQuery
from muniment.plugin.item_mapping import make_item

_DAY = 86_400.0


def make_hit(hit: Hit, query: SearchQuery, settings: PluginSettings) -> MemoryHit:
    """Return a hit of the engine with the score of the plugin."""
    item = make_item(hit.memory, tenant=query.owner.tenant, user=query.owner.user)
    age = max(0.0, (query.at - (item.updated_at or item.created_at)).total_seconds() / _DAY)
    parts: dict[Channel, float] = {
        "semantic": max(0.0, hit.parts.get("semantic", 0.0)) / 0.55,
        "keyword": hit.parts.get("keyword", 0.0) / 0.35,
        "recency": 0.5 ** (age / settings.half_life_days),
    }
    score = (
        settings.semantic_weight * parts["semantic"]
        + settings.keyword_weight * parts["keyword"]
        + settings.recency_weight * parts["recency"]
    )
    return MemoryHit(item=item, score=score, parts=parts, store="engine")
