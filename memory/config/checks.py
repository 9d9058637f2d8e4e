"""What has to hold between settings, whether a file or an override says them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from pydantic import ValidationError

from muniment.memory.config.plugin import GateSettings, PluginSettings
from muniment.memory.config.recall import RecallSettings
from muniment.memory.config.refusals import describe_refusal
from muniment.memory.config.schema import EmbedderProfile, Forgetting, Limits, Spending
from muniment.memory.config.yaml_file import KeyPath, format_key, suggest_name
from muniment.memory.errors import MunimentError

_ROUNDING = 1e-6  # of a sum of decimal fractions
Refuse: TypeAlias = Callable[[KeyPath, str], MunimentError]


def check_recall(recall: RecallSettings, limits: Limits, refuse: Refuse) -> None:
    """Raise what `refuse` makes of a query's default that is over its limit, and of an agent's profile that there is
    not."""
    if recall.top_k > limits.top_k:
        raise refuse(("recall", "top_k"), f"is {recall.top_k}; allowed: at most limits.top_k")
    for name, overrides in recall.profiles.items():
        if overrides.get("top_k", 0) > limits.top_k:
            path: KeyPath = ("recall", "profiles", name, "top_k")
            raise refuse(path, f"is {overrides['top_k']}; allowed: at most limits.top_k")
    for agent, profile in recall.agents.items():
        if profile not in recall.profiles:
            known = suggest_name(profile, recall.profiles)
            raise refuse(("recall", "agents", agent), f"there is no profile {format_key(profile)}{known}")


def check_forgetting(forgetting: Forgetting, categories: Iterable[str], refuse: Refuse) -> None:
    """Raise what `refuse` makes of days for a category that there is not."""
    known = [*categories]
    for name in forgetting.categories:
        if name not in known:
            problem = f"there is no category {format_key(name)}{suggest_name(name, known)}"
            raise refuse(("forgetting", "categories", name), problem)


def check_embedders(
    embedders: Mapping[str, EmbedderProfile], has_key: Callable[[KeyPath], bool], refuse: Refuse
) -> None:
    """Raise what `refuse` makes of bands that are not in order. It names the key of the two that `has_key` knows."""
    for name, profile in embedders.items():
        for place, bands in (((), profile), *((("by_writing", key), each) for key, each in profile.by_writing.items())):
            if disorder := bands.find_disorder():
                low, high, problem = disorder
                paths: list[KeyPath] = [("embedders", name, *place, key) for key in (low, high)]
                raise refuse(next(filter(has_key, paths), paths[0]), problem)


def check_spending(spend: Spending, model: str | None, refuse: Refuse) -> None:
    """Raise what `refuse` makes of a budget in money for a model without a price, which costs nothing: the budget
    would never end, at the smallest error in a name."""
    if spend.daily_money is not None and model is not None and model not in spend.prices:
        raise refuse(("spend", "prices"), f"has no price of MUNIMENT_MODEL ({model}), which spend.daily_money needs")


def check_plugin(plugin: PluginSettings, refuse: Refuse) -> None:
    """Raise what `refuse` makes of weights that do not make one, a service without an address, a policy that there is
    not, and a change of the gates that they do not take."""
    total = plugin.semantic_weight + plugin.keyword_weight + plugin.recency_weight
    if abs(total - 1) > _ROUNDING:
        raise refuse(
            ("plugin", "semantic_weight"), f"allowed: with keyword_weight and recency_weight 1, but they are {total:g}"
        )
    if plugin.store in ("remote", "hybrid") and plugin.url is None:
        raise refuse(("plugin", "url"), f"is null; allowed: an address of the service, with store: {plugin.store}")
    for name, changes in plugin.policies.items():
        check_policy(plugin, name, changes, refuse)
    for key in ("policy", "other_policy"):
        named = getattr(plugin, key)
        if named is not None and named != "default" and named not in plugin.policies:
            known = suggest_name(named, ["default", *plugin.policies])
            raise refuse(("plugin", key), f"there is no policy {format_key(named)}{known}")


def check_policy(plugin: PluginSettings, name: str, changes: Mapping[str, float], refuse: Refuse) -> None:
    """Raise what `refuse` makes of a policy with a key that is none of `plugin.gates`, or a value that it refuses."""
    gates = plugin.gates.model_dump()
    for key, value in changes.items():
        path: KeyPath = ("plugin", "policies", name, key)
        if key not in gates:
            raise refuse(path, f"there is no gate {format_key(key)}{suggest_name(key, gates)}")
        whole = int(value) if isinstance(gates[key], int) and value.is_integer() else value
        try:
            GateSettings.model_validate(gates | {key: whole})
        except ValidationError as error:
            raise refuse(path, describe_refusal(error, lambda _: gates)[1]) from None
