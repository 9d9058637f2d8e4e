"""Chat, embeddings and batches by the OpenAI protocol."""
