"""The graph `hybrid`: an agent with curated files, and a gateway beside them; `served` is LangGraph's server's."""
