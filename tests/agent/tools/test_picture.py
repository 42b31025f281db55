"""Detecting images."""

import struct

from handrail.agent.tools.picture import Picture, picture_of


def test_jpeg_size_is_in_a_later_segment():
    head = b"\xff\xd8\xff\xe0\x00\x04ab" + b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", 20, 30) + b"\x03"
    assert picture_of(head) == Picture("image/jpeg", 30, 20)


def test_sizes_of_the_three_webp_formats():
    extended = b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x09\0\0" + b"\x13\0\0"
    lossy = b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 10, 20)
    lossless = b"RIFF\0\0\0\0WEBPVP8L" + b"\0" * 5 + struct.pack("<I", 9 | (19 << 14))
    for data in (extended, lossy, lossless):
        assert picture_of(data) == Picture("image/webp", 10, 20)


def test_truncated_images_and_other_data_are_not_detected():
    for data in (b"", b"\x89PNG\r\n\x1a\n\0\0", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBP", b"GIF89a", b"text"):
        assert picture_of(data) is None
