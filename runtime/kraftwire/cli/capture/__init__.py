"""Commands for recorded traffic: `recording` opens it, `frame_output` prints frames."""
