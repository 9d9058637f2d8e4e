"""A chain of middlewares around any function that answers messages. It knows nothing of what they do."""
