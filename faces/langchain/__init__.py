"""Ways into agents of LangChain and LangGraph: the tool, the middleware and the store of `muniment.langchain`."""
