"""Commands for recorded traffic: `recording` opens it, `frame_format` prints frames."""
