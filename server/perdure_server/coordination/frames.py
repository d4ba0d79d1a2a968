"""How a frame is stored, the same in both adapters."""

import msgspec

from perdure_server.ports.coordination import Frame

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Frame)


def encode_frame(frame: Frame) -> bytes:
    """The frame, its payload included, as MessagePack."""
    return _encoder.encode(frame)


def decode_frame(data: bytes) -> Frame:
    """The inverse of `encode_frame`; ValueError if these bytes are not ours."""
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise ValueError("not a frame") from error
