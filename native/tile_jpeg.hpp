// Packing's side of tiles: rewrites a JPEG so that TileDecoder can start anywhere.
//
// The coefficients stay as they are. The result is an ordinary baseline JPEG with a restart marker every few MCUs and
// Huffman tables made for it, which pay for most of what the markers cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jpeg_header.hpp"

namespace penstock {

// Empty: `out` holds the tiled file, checked to have the same coefficients: libjpeg-turbo
// reads the source, TileDecoder the result. Else why the file must stay as it is.
std::string tile_jpeg(Bytes data, std::vector<uint8_t>& out);

// The MCUs between two markers, for rows of `across` MCUs.
int tile_interval(int across);

}  // namespace penstock
