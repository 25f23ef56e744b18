"""Decoding frames, pairing requests with responses, and selecting some of them.

decoder           decodes frames, and pairs them into exchanges
selection         keeps the frames of an API, a client or a topic
topics            finds the topics in a message
request_queue     holds requests, up to a limit, until their responses come
"""
