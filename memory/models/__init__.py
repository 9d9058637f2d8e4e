"""The adapters of embedders, chat models and clocks."""
