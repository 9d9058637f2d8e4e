"""The OpenAI-compatible proxy: memory and history go before a request, all else goes through untouched."""
