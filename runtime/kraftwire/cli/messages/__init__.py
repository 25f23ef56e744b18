"""Commands for single messages: decode, encode and fields.

- `input_bytes`: files as hex, base64 or binary; `bytes_options`: the options that name bytes
- `decoded_message`: a message with its header or record, from bytes or JSON and back
- `message_lookup`: messages by name; `message_rows`, `named_numbers`: messages as tables
- `layout_rows`: layouts as tables
"""
